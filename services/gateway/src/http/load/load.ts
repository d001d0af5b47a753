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
  memory: new Overloaded('the bodies of requests take too much memory'),
  slow: new Overloaded('the body arrived too slowly while others waited'),
}

/**
 * What a request asks for. A document is a file that describes the service: large, and the same for every caller. A probe is an
 * unsigned health check.
 */
export type RequestKind = 'read' | 'write' | 'document' | 'probe'

/** How a request counts. Pass the same object to `beginRequest` and `endRequest`, so that every slot is released. */
export interface Slot {
  readonly kind: RequestKind
  /** The key from `Clients.ofRequest`. */
  readonly client: string
  /** No registered agent has signed the request, as far as is known (strangers.ts). */
  readonly isUnsigned?: boolean
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
const MAX_BODY_BYTES: number = 64 * 1024 * 1024
const SAY_AGAIN_MS = 1_000

/**
 * Counts and limits the requests in progress in this process. A request mostly waits for other services and uses little CPU here.
 * So without a limit, requests would pile up until each one misses its deadline before its turn, and none is answered.
 */
export class Load {
  readonly #logger: Logger
  readonly #maxRequests: number
  readonly #maxBodyBytes: number
  readonly #underWay = { read: 0, write: 0, document: 0 }
  #unsigned = 0
  /** Requests in progress by client; clients without any are removed. */
  readonly #clients = new Map<string, number>()
  /** Bodies that are still arriving, in the order in which they began. */
  readonly #arriving = new Set<Upload>()
  #bodyBytes = 0
  #refused = 0

  constructor({ logger, maxRequests, maxBodyBytes = MAX_BODY_BYTES }: LoadOptions) {
    this.#logger = logger
    this.#maxRequests = maxRequests
    this.#maxBodyBytes = maxBodyBytes
  }

  /** Requests in progress: from the arrival of their last byte until their answer has left. Probes do not count. */
  get requests(): number {
    const { read, write, document } = this.#underWay
    return read + write + document
  }

  /** Bytes of all bodies that are being received or processed. */
  get bodyBytes(): number {
    return this.#bodyBytes
  }

  /** @throws Overloaded if there is no room for a request of this kind. Probes are always admitted: health matters most under load. */
  checkRoom({ kind, client, isUnsigned = false }: Slot): void {
    if (kind === 'probe') return
    const max = this.#maxRequests
    if (this.#underWay[kind] >= Math.ceil(max * SHARE) || this.requests >= max) throw this.#refusal('requests')
    if (isUnsigned && this.#unsigned >= Math.ceil(max * UNSIGNED_SHARE)) throw this.#refusal('unsigned')
    const ofClient = this.#clients.get(client) ?? 0
    if (ofClient >= Math.ceil((max * CLIENT_PERCENT) / 100)) throw this.#refusal('address')
  }

  /** Call this when a request has arrived completely. It counts until `endRequest`. @throws Overloaded if there is no room. */
  beginRequest(slot: Slot): void {
    this.checkRoom(slot)
    this.#countRequest(slot, 1)
  }

  endRequest(slot: Slot): void {
    this.#countRequest(slot, -1)
  }

  /** Counts the request again until `endRequest`, because its answer could not leave at once. */
  resumeRequest(slot: Slot): void {
    this.#countRequest(slot, 1)
  }

  /**
   * Adds received bytes to a body. If there is no room, cuts off the body that began to arrive first, so that stalled uploads
   * cannot block others.
   * @throws Overloaded if no other body can be cut off.
   */
  growBody(upload: Upload, bytes: number): void {
    this.#arriving.add(upload)
    while (this.#bodyBytes + bytes > this.#maxBodyBytes) {
      const [first] = this.#arriving
      if (first === undefined || first === upload) throw this.#refusal('memory')
      first.cutOff?.(this.#refusal('slow'))
    }
    upload.bytes += bytes
    this.#bodyBytes += bytes
  }

  /** The body is complete, and can no longer be cut off. */
  keepBody(upload: Upload): void {
    this.#arriving.delete(upload)
  }

  /** Releases the bytes of the body. */
  releaseBody(upload: Upload): void {
    this.#arriving.delete(upload)
    this.#bodyBytes -= upload.bytes
    upload.bytes = 0
  }

  #countRequest({ kind, client, isUnsigned = false }: Slot, by: 1 | -1): void {
    if (kind === 'probe') return
    this.#underWay[kind] += by
    if (isUnsigned) this.#unsigned += by
    const left = (this.#clients.get(client) ?? 0) + by
    if (left === 0) this.#clients.delete(client)
    else this.#clients.set(client, left)
  }

  #refusal(why: keyof typeof REFUSALS): Overloaded {
    if (this.#refused === 0) setTimeout(() => this.#logRefusals(), SAY_AGAIN_MS).unref()
    this.#refused += 1
    return REFUSALS[why]
  }

  #logRefusals(): void {
    this.#logger.warn(
      { refused: this.#refused, requests: this.requests, body_bytes: this.#bodyBytes },
      'requests were refused: the gateway is overloaded',
    )
    this.#refused = 0
  }
}
