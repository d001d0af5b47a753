import type { IncomingHttpHeaders } from 'node:http'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { createTurn, type Turn } from './turn.ts'

/**
 * Refuses a request with `unavailable` because this process is overloaded, before the request has cost anything or had any
 * effect. There may be thousands of these, so they are counted and not logged one by one.
 */
export class Overloaded extends ServiceError {
  constructor(what: string) {
    super('unavailable', { cause: new Error(what) })
  }
}

/** Created once, because a refusal must cost next to nothing and its stack trace is of no use. */
const REFUSALS = {
  requests: new Overloaded('too many requests are under way'),
  unsigned: new Overloaded('too many unsigned requests are under way'),
  address: new Overloaded('too many requests of one forwarded address are under way'),
  turn: new Overloaded('requests come faster than they are read'),
  memory: new Overloaded('the bodies of requests take too much memory'),
  slow: new Overloaded('the body arrived too slowly while others waited'),
}

/** A document is a file that describes the service: large, and the same for every caller. */
type Kind = 'read' | 'write' | 'document' | 'probe'

/** How a request counts. Pass the same object to `begin` and `end`, so that every slot is released. */
export interface Slot {
  readonly kind: Kind
  /** No registered agent has signed the request, as far as is known (strangers.ts). */
  readonly isUnsigned?: boolean
  /** The client's address, if a trusted proxy forwarded the request. For other clients the limits on connections apply instead. */
  readonly forwardedFor?: string | undefined
}

/**
 * Counts and limits the requests in progress in this process. A request mostly waits for other services and uses little CPU here.
 * So without a limit, requests would pile up until each one misses its deadline before its turn, and none is answered.
 */
export interface Load {
  /** Requests in progress: from the arrival of their last byte until their answer has left. Probes do not count. */
  readonly requests: number
  /** Bytes of all bodies that are being received or processed. */
  readonly bodyBytes: number
  /** @throws Overloaded if there is no room for a request of this kind. */
  check(slot: Slot): void
  /** Call this when a request has arrived completely. It counts until `end`. @throws Overloaded if there is no room. */
  begin(slot: Slot): void
  end(slot: Slot): void
  /** Counts the request again until `end`, because its answer could not leave at once. */
  resume(slot: Slot): void
  /**
   * Adds received bytes to a body. If there is no room, cuts off the body that began to arrive first, so that stalled uploads
   * cannot block others.
   * @throws Overloaded if no other body can be cut off.
   */
  grow(upload: Upload, bytes: number): void
  /** The body is complete, and can no longer be cut off. */
  arrived(upload: Upload): void
  /** Releases the bytes of the body. */
  release(upload: Upload): void
}

/** A body in memory. */
export interface Upload {
  bytes: number
  /** Aborts the upload with this error, and releases its bytes. */
  cutOff: ((error: Overloaded) => void) | undefined
}

interface LoadOptions {
  readonly logger: Logger
  /** For tests. */
  readonly turn?: Turn
  /** Maximum number of requests in progress. */
  readonly maxRequests: number
  /** Maximum bytes of all bodies; for tests. */
  readonly maxBodyBytes?: number
}

/**
 * Reads may use at most this share of the request slots, and so may writes, so a flood of one kind cannot starve the other. Writes
 * may use at most this share of a turn.
 */
const SHARE = 0.75
/** Unsigned requests may use at most this share of the request slots, so a flood of them cannot push out registered agents. */
const UNSIGNED_SHARE = 0.25
/** Unsigned requests may use at most this share of a turn. */
const UNSIGNED_TURN_SHARE = 0.5
/** Documents may use at most this share of a turn. The kernel takes 240 KB of each at once, even if the client never reads them. */
const DOCUMENT_TURN_SHARE = 0.1
/**
 * One forwarded address may use at most this percentage of the request slots: 512 by default. A thousand agents fit behind one
 * address, because its rate (100/s, bursts of 200) keeps far fewer requests in progress unless services are slow.
 */
const FORWARDED_PERCENT = 50
/**
 * CPU time, in milliseconds, that one turn of the event loop may spend on requests. If this process itself is the bottleneck,
 * requests wait unread in the kernel and cannot be counted. So once a turn has used this much CPU, the rest of its requests are
 * refused, which costs a tenth of the work. A burst of 1,000 requests fits. In a process that has just started and still
 * compiles its code, a burst of 100 fits.
 */
export const MAX_TURN_MS = 250
const MAX_BODY_BYTES: number = 64 * 1024 * 1024
const SAY_AGAIN_MS = 1_000
const DOCUMENTS: ReadonlySet<string> = new Set(['getDocs', 'getManifest', 'getOpenApi'])

export function createLoad({
  logger,
  maxRequests,
  maxBodyBytes = MAX_BODY_BYTES,
  turn = createTurn(),
}: LoadOptions): Load {
  const maxOfOneKind = Math.ceil(maxRequests * SHARE)
  const maxUnsigned = Math.ceil(maxRequests * UNSIGNED_SHARE)
  const maxOfAddress = Math.ceil((maxRequests * FORWARDED_PERCENT) / 100)
  const underWay = { read: 0, write: 0, document: 0 }
  let unsigned = 0
  /** Requests in progress by forwarded address; addresses without any are removed. */
  const forwarded = new Map<string, number>()
  /** Bodies that are still arriving, in the order in which they began. */
  const arriving = new Set<Upload>()
  let bodyBytes = 0
  let refused = 0

  const load: Load = {
    get requests() {
      return underWay.read + underWay.write + underWay.document
    },
    get bodyBytes() {
      return bodyBytes
    },
    check({ kind, isUnsigned = false, forwardedFor }) {
      // Always admit probes: health matters most under load.
      if (kind === 'probe') return
      if (underWay[kind] >= maxOfOneKind || load.requests >= maxRequests) throw refusal('requests')
      if (isUnsigned && unsigned >= maxUnsigned) throw refusal('unsigned')
      if (forwardedFor !== undefined && (forwarded.get(forwardedFor) ?? 0) >= maxOfAddress) throw refusal('address')
      if (turn.hasUsed(MAX_TURN_MS * shareOfTurn(kind, isUnsigned))) throw refusal('turn')
    },
    begin(slot) {
      load.check(slot)
      count(slot, 1)
    },
    end: (slot) => count(slot, -1),
    resume: (slot) => count(slot, 1),
    grow(upload, bytes) {
      arriving.add(upload)
      while (bodyBytes + bytes > maxBodyBytes) {
        const [first] = arriving
        if (first === undefined || first === upload) throw refusal('memory')
        first.cutOff?.(refusal('slow'))
      }
      upload.bytes += bytes
      bodyBytes += bytes
    },
    arrived(upload) {
      arriving.delete(upload)
    },
    release(upload) {
      arriving.delete(upload)
      bodyBytes -= upload.bytes
      upload.bytes = 0
    },
  }
  return load

  function count({ kind, isUnsigned, forwardedFor }: Slot, by: 1 | -1): void {
    if (kind === 'probe') return
    underWay[kind] += by
    if (isUnsigned) unsigned += by
    if (forwardedFor === undefined) return
    const left = (forwarded.get(forwardedFor) ?? 0) + by
    if (left === 0) forwarded.delete(forwardedFor)
    else forwarded.set(forwardedFor, left)
  }

  function refusal(why: keyof typeof REFUSALS): Overloaded {
    if (refused === 0) {
      setTimeout(() => {
        logger.warn(
          { refused, requests: load.requests, body_bytes: bodyBytes },
          'requests were refused: the gateway is overloaded',
        )
        refused = 0
      }, SAY_AGAIN_MS).unref()
    }
    refused += 1
    return REFUSALS[why]
  }
}

/** The share of a turn's CPU time after which a request of this kind is refused. Reads of agents are refused last. */
function shareOfTurn(kind: Exclude<Kind, 'probe'>, isUnsigned: boolean): number {
  if (kind === 'document') return DOCUMENT_TURN_SHARE
  if (isUnsigned) return UNSIGNED_TURN_SHARE
  return kind === 'read' ? 1 : SHARE
}

/**
 * A signed health check counts as a read, because it costs a verification and a nonce.
 * @param operation only the two fields used here, because an import of operation.ts would create a circle through body.ts.
 */
export function kindOf(
  operation: { readonly id: string; readonly method: string },
  { authorization }: IncomingHttpHeaders,
): Kind {
  const { id, method } = operation
  if (id === 'getHealth' && authorization === undefined) return 'probe'
  if (DOCUMENTS.has(id)) return 'document'
  return method === 'GET' ? 'read' : 'write'
}
