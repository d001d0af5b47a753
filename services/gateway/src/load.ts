import type { IncomingHttpHeaders } from 'node:http'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import type { Operation } from './operation.ts'
import { createTurn, type Turn } from './turn.ts'

/**
 * Too much is under way here: `unavailable`, before anything was spent on the request and before it had any effect. It is the
 * answer to load, so it is counted and not logged one by one.
 */
export class Overloaded extends ServiceError {
  constructor(what: string) {
    super('unavailable', { cause: new Error(what) })
  }
}

/** Made once: a refusal must cost next to nothing, and a trace of where it came from says nothing. */
const REFUSALS = {
  requests: new Overloaded('too many requests are under way'),
  unsigned: new Overloaded('too many unsigned requests are under way'),
  address: new Overloaded('too many requests of one forwarded address are under way'),
  turn: new Overloaded('requests come faster than they are read'),
  memory: new Overloaded('the bodies of requests take too much memory'),
  slow: new Overloaded('it arrived too slowly while others waited'),
}

type Kind = 'read' | 'write' | 'probe'

/** What a request takes its slot as. `begin` and `end` are given the same one, so that every slot is given back. */
export interface Slot {
  readonly kind: Kind
  /** No registered agent has signed the request, as far as is known (strangers.ts). */
  readonly isUnsigned?: boolean
  /** The client's address, if a trusted proxy has forwarded the request. Connections bound the requests of all other clients. */
  readonly forwardedFor?: string | undefined
}

/**
 * What a process has under way, and how much of it there may be. Requests wait for other services and hardly use this process meanwhile, so
 * without a bound they would pile up until each one's deadline had passed before its turn came, and none were answered.
 */
export interface Load {
  /** Requests that are being worked on: behind their last byte, until their answer has left. Probes do not count. */
  readonly requests: number
  /** Of bodies that are being received or worked on. */
  readonly bodyBytes: number
  /** @throws Overloaded if there is no room for such a request. */
  check(slot: Slot): void
  /** A request is whole; it counts until `end`. @throws Overloaded */
  begin(slot: Slot): void
  end(slot: Slot): void
  /** The answer could not leave at once: the request counts again, until `end`. */
  resume(slot: Slot): void
  /**
   * A body grows. Where it has no room the body that began to arrive first of all gives way: clients that send nothing
   * on keep nobody out.
   * @throws Overloaded where there is none.
   */
  grow(upload: Upload, bytes: number): void
  /** It is there, and does not give way any more. */
  arrived(upload: Upload): void
  /** It gives its bytes back. */
  release(upload: Upload): void
}

/** A body in memory. */
export interface Upload {
  bytes: number
  /** Ends its arrival with this error, and releases it. */
  cutOff: ((error: Overloaded) => void) | undefined
}

export interface LoadOptions {
  readonly logger: Logger
  /** For tests. */
  readonly turn?: Turn
  /** Requests at most. */
  readonly maxRequests: number
  /** Bytes of bodies at most; other than the default for tests. */
  readonly maxBodyBytes?: number
}

/**
 * Reads may use at most this share of the request slots, and so may writes, so a flood of one kind cannot starve the other. Writes
 * may use at most this share of a turn.
 */
const SHARE = 0.75
/** Unsigned requests may use at most this share of the request slots, and this share of a turn, so a flood cannot push out registered agents. */
const UNSIGNED_SHARE = 0.25
const UNSIGNED_TURN_SHARE = 0.5
/**
 * One forwarded address may use at most this percentage of the request slots: 512 by default. A thousand agents fit behind one
 * address, because its rate (100/s, bursts of 200) keeps far fewer requests under way unless services are slow.
 */
const FORWARDED_PERCENT = 50
/**
 * Milliseconds of CPU that one turn of the event loop may spend on requests. Where this process itself is what is too slow, requests
 * wait unread, and nothing of them can be counted: whatever a turn has still before it behind that time is refused, which takes
 * a tenth of the work. A burst of a thousand fits, and so does one of a hundred in a process that has just started and compiles.
 */
export const MAX_TURN_MS = 250
export const MAX_BODY_BYTES: number = 64 * 1024 * 1024
const SAY_AGAIN_MS = 1_000

export function createLoad({
  logger,
  maxRequests,
  maxBodyBytes = MAX_BODY_BYTES,
  turn = createTurn(),
}: LoadOptions): Load {
  const maxOfOneKind = Math.ceil(maxRequests * SHARE)
  const maxUnsigned = Math.ceil(maxRequests * UNSIGNED_SHARE)
  const maxOfAddress = Math.ceil((maxRequests * FORWARDED_PERCENT) / 100)
  const underWay = { read: 0, write: 0 }
  let unsigned = 0
  /** Requests under way of each forwarded address that has any. */
  const forwarded = new Map<string, number>()
  /** Bodies that are still arriving, the first of them first. */
  const arriving = new Set<Upload>()
  let bodyBytes = 0
  let refused = 0

  const load: Load = {
    get requests() {
      return underWay.read + underWay.write
    },
    get bodyBytes() {
      return bodyBytes
    },
    check({ kind, isUnsigned = false, forwardedFor }) {
      // Whether the process works is asked most of all when it has much to do.
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
          'requests were refused: too much is under way',
        )
        refused = 0
      }, SAY_AGAIN_MS).unref()
    }
    refused += 1
    return REFUSALS[why]
  }
}

/** What a turn may have used before this is refused: reads of agents last. */
function shareOfTurn(kind: 'read' | 'write', isUnsigned: boolean): number {
  if (isUnsigned) return UNSIGNED_TURN_SHARE
  return kind === 'read' ? 1 : SHARE
}

/** A signed health check is a read: it costs a verification and a nonce. */
export function kindOf({ id, method }: Operation, { authorization }: IncomingHttpHeaders): Kind {
  if (id === 'getHealth' && authorization === undefined) return 'probe'
  return method === 'GET' ? 'read' : 'write'
}
