import type { IncomingHttpHeaders } from 'node:http'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Logger } from '@svc/telemetry/logger.ts'

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
  address: new Overloaded('too many requests of one address are under way'),
  late: new Overloaded('requests come faster than this process can begin them'),
  memory: new Overloaded('the bodies of requests take too much memory'),
  slow: new Overloaded('the body arrived too slowly while others waited'),
}

/** A document is a file that describes the service: large, and the same for every caller. */
type Kind = 'read' | 'write' | 'document' | 'probe'

/** How a request counts. Pass the same object to `begin` and `end`, so that every slot is released. */
export interface Slot {
  readonly kind: Kind
  /** The key from `Clients.ofRequest`. */
  readonly client: string
  /** No registered agent has signed the request, as far as is known (strangers.ts). */
  readonly isUnsigned?: boolean
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
  /** @throws Overloaded if there is no room for a request of this kind, or if it has waited too long to begin (request-turns.ts). */
  check(slot: Slot, waitedMs?: number): void
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
  cutOff: ((error: ServiceError) => void) | undefined
}

interface LoadOptions {
  readonly logger: Logger
  /** Maximum number of requests in progress. */
  readonly maxRequests: number
  /** Maximum bytes of all bodies; for tests. */
  readonly maxBodyBytes?: number
}

/** Reads may use at most this share of the request slots, and so may writes, so a flood of one kind cannot starve the other. */
const SHARE = 0.75
/** Unsigned requests may use at most this share of the request slots, so a flood of them cannot push out registered agents. */
const UNSIGNED_SHARE = 0.25
/**
 * One client address may use at most this percentage of the request slots: 512 by default. A thousand agents fit behind one
 * address, because its rate (100/s, bursts of 200) keeps far fewer requests in progress unless services are slow.
 */
const CLIENT_PERCENT = 50
/** A request that has waited longer than this to begin is refused: its client gets its answer within 5 s (spec 3.17). */
export const MAX_WAIT_MS = 500
const MAX_BODY_BYTES: number = 64 * 1024 * 1024
const SAY_AGAIN_MS = 1_000

export function createLoad({ logger, maxRequests, maxBodyBytes = MAX_BODY_BYTES }: LoadOptions): Load {
  const maxOfOneKind = Math.ceil(maxRequests * SHARE)
  const maxUnsigned = Math.ceil(maxRequests * UNSIGNED_SHARE)
  const maxOfClient = Math.ceil((maxRequests * CLIENT_PERCENT) / 100)
  const underWay = { read: 0, write: 0, document: 0 }
  let unsigned = 0
  /** Requests in progress by client; clients without any are removed. */
  const clients = new Map<string, number>()
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
    check({ kind, client, isUnsigned = false }, waitedMs = 0) {
      // Always admit probes: health matters most under load.
      if (kind === 'probe') return
      if (underWay[kind] >= maxOfOneKind || load.requests >= maxRequests) throw refusal('requests')
      if (isUnsigned && unsigned >= maxUnsigned) throw refusal('unsigned')
      if ((clients.get(client) ?? 0) >= maxOfClient) throw refusal('address')
      if (waitedMs > MAX_WAIT_MS) throw refusal('late')
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

  function count({ kind, client, isUnsigned }: Slot, by: 1 | -1): void {
    if (kind === 'probe') return
    underWay[kind] += by
    if (isUnsigned) unsigned += by
    const left = (clients.get(client) ?? 0) + by
    if (left === 0) clients.delete(client)
    else clients.set(client, left)
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

/**
 * A signed health check counts as a read, because it costs a verification and a nonce.
 * @param operation only the fields used here, because an import of operation.ts would create a circle through body.ts.
 */
export function kindOf(
  operation: { readonly id: string; readonly method: string; readonly isDocument: boolean },
  { authorization }: IncomingHttpHeaders,
): Kind {
  const { id, method, isDocument } = operation
  if (id === 'getHealth' && authorization === undefined) return 'probe'
  if (isDocument) return 'document'
  return method === 'GET' ? 'read' : 'write'
}
