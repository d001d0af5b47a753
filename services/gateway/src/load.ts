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
  turn: new Overloaded('requests come faster than they are read'),
  memory: new Overloaded('the bodies of requests take too much memory'),
  slow: new Overloaded('it arrived too slowly while others waited'),
}

/**
 * What a process has under way, and how much of it there may be. Requests wait for other services and hardly use this process meanwhile, so
 * without a bound they would pile up until each one's deadline had passed before its turn came, and none were answered.
 */
export interface Load {
  /** Requests that are being worked on: behind their last byte, before their answer. Those for health do not count. */
  readonly requests: number
  /** Of bodies that are being received or worked on. */
  readonly bodyBytes: number
  /** @throws Overloaded where there is no room for a request of the operation. */
  check(operation: Operation): void
  /** A request is whole; it counts until `end`. @throws Overloaded */
  begin(operation: Operation): void
  end(operation: Operation): void
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
 * Of the requests that reads may be, and that everything else may be: whoever sends too much does not keep others from reading, nor the
 * other way round. Of a turn, what may go to all but reads.
 */
const SHARE = 0.75
/**
 * Milliseconds of CPU that one turn of the event loop may spend on requests. Where this process itself is what is too slow, requests
 * wait unread, and nothing of them can be counted: whatever a turn has still before it behind that time is refused, which takes
 * a tenth of the work. A burst of a thousand fits, and so does one of a hundred in a process that has just started and compiles.
 */
export const MAX_TURN_MS = 250
/** Of clients, some 15 KB each; further ones are closed unheard, so that a balancer turns to another gateway. */
export const MAX_CONNECTIONS = 10_000
export const MAX_BODY_BYTES: number = 64 * 1024 * 1024
const SAY_AGAIN_MS = 1_000

export function createLoad({
  logger,
  maxRequests,
  maxBodyBytes = MAX_BODY_BYTES,
  turn = createTurn(),
}: LoadOptions): Load {
  const maxOfOneKind = Math.ceil(maxRequests * SHARE)
  const underWay = { read: 0, write: 0, health: 0 }
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
    check(operation) {
      const kind = kindOf(operation)
      // Whether the process works is asked most of all when it has much to do.
      if (kind === 'health') return
      if (underWay[kind] >= maxOfOneKind || load.requests >= maxRequests) throw refusal('requests')
      if (turn.hasUsed(MAX_TURN_MS * (kind === 'read' ? 1 : SHARE))) throw refusal('turn')
    },
    begin(operation) {
      load.check(operation)
      underWay[kindOf(operation)] += 1
    },
    end(operation) {
      underWay[kindOf(operation)] -= 1
    },
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

function kindOf({ id, method }: Operation): 'read' | 'write' | 'health' {
  if (id === 'getHealth') return 'health'
  return method === 'GET' ? 'read' : 'write'
}
