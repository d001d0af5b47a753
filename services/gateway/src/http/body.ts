import type { IncomingMessage } from 'node:http'
import { ServiceError } from '@svc/contracts/errors.ts'
import { LIMITS } from '@svc/contracts/limits.ts'
import { type JsonOutline, type ParsedJson, parseOrOutline } from '@svc/envelope/i-json.ts'
import { IJsonError } from '@svc/envelope/json-value.ts'
import { isRepeated } from './headers.ts'
import type { Load, Upload } from './load/load.ts'

/** The exact bytes of a body, which the signature covers, and the headers that describe them. */
export interface RequestBody {
  readonly bytes: Buffer
  /** Undefined also if the header was sent twice, because each reader could believe another of the two. */
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
}

/** A longer body may take more than half a millisecond to hash and parse. Few messages are longer. */
const LARGE_BYTES: number = 8 * 1024
/** A value takes up to 0.7 µs of CPU to parse, check and hash, as much as some hundred bytes of text. Few messages have so many. */
const MANY_VALUES = 256

const OPEN_BRACE = 0x7b
const OPEN_BRACKET = 0x5b
const COMMA = 0x2c

const EMPTY = Buffer.alloc(0)
const RELEASED = new ServiceError('invalid_request', { detail: 'the request has ended' })

/** Whether a body may cost this process far more CPU than most bodies do, because of its length or its number of values. */
export function isLarge({ bytes }: RequestBody): boolean {
  return bytes.length > LARGE_BYTES || hasManyValues(bytes)
}

/**
 * Counts commas and opening brackets, because every value except the outermost one follows a comma or an opening bracket. Commas
 * and brackets in strings count too. Few texts have many of them, and to tell them apart would cost more than a wait for a turn.
 */
function hasManyValues(bytes: Buffer): boolean {
  let values = 1
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte !== COMMA && byte !== OPEN_BRACE && byte !== OPEN_BRACKET) continue
    values += 1
    if (values > MANY_VALUES) return true
  }
  return false
}

/** A body that counts towards the load of this process until it is released. */
interface HeldBody {
  readonly upload: Upload
  readonly bytes: Promise<Buffer>
}

/**
 * Reads bodies to their end, for every method, because the signature covers the body of a GET as well. A body is read from the
 * moment its head has arrived, even if its request must wait. Otherwise Node would keep each of its chunks as an object, which
 * takes 300 times the memory of a chunk of one byte.
 */
export class Bodies {
  readonly #held = new WeakMap<IncomingMessage, HeldBody>()
  readonly #load: Load

  constructor(load: Load) {
    this.#load = load
  }

  /** Begins to read a body. Call `release` at the end of the request, whether or not anything has asked for the body. */
  begin(request: IncomingMessage): void {
    if (!hasBody(request) || this.#held.has(request)) return
    const upload: Upload = { bytes: 0, cutOff: undefined }
    const bytes = readBytes(request, this.#load, upload)
    bytes.catch(() => {}) // nothing may ask for the body
    this.#held.set(request, { upload, bytes })
  }

  /**
   * @throws ServiceError `body_too_large` as soon as its declared length, or the bytes received so far, exceed 96 KiB; the rest
   *   is not read (spec 3.9). `invalid_request` if the connection breaks before the end. `Overloaded` if there is no room for it.
   */
  async read(request: IncomingMessage): Promise<RequestBody> {
    const { headers, rawHeaders } = request
    this.begin(request)
    return {
      bytes: (await this.#held.get(request)?.bytes) ?? EMPTY,
      contentType: isRepeated(rawHeaders, 'content-type') ? undefined : headers['content-type'],
      contentEncoding: headers['content-encoding'],
    }
  }

  /** The body no longer counts, and is no longer read. */
  release(request: IncomingMessage): void {
    this.#held.get(request)?.upload.cutOff?.(RELEASED)
  }
}

/** Whether the unread rest of the body may be too long to read and discard: its length is undeclared or over the limit. */
export function isBodyLeft(request: IncomingMessage): boolean {
  return !request.complete && hasBody(request) && !(declaredBytes(request) <= LIMITS.requestBytes)
}

function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length']
  return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined
}

/** NaN if the length is not declared. */
function declaredBytes({ headers }: IncomingMessage): number {
  return Number(headers['content-length'])
}

/** Join the pieces of a body when there are this many. Each is an object, so one-byte chunks would take 100 times their size. */
const MAX_PIECES = 64

function readBytes(request: IncomingMessage, load: Load, upload: Upload): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const declared = declaredBytes(request)
    if (declared > LIMITS.requestBytes) {
      const detail = `the body has ${declared} bytes by its Content-Length; a request body can have at most 96 KiB`
      reject(new ServiceError('body_too_large', { detail }))
      return
    }
    let chunks: Buffer[] = []
    let received = 0
    const stop = (): void => {
      request.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken)
    }
    const fail = (error: unknown): void => {
      stop()
      load.releaseBody(upload)
      reject(error)
    }
    const onData = (chunk: Buffer): void => {
      received += chunk.length
      if (received > LIMITS.requestBytes) {
        request.pause()
        fail(new ServiceError('body_too_large'))
        return
      }
      try {
        load.growBody(upload, chunk.length)
        chunks.push(chunk)
        if (chunks.length === MAX_PIECES) chunks = [Buffer.concat(chunks)]
      } catch (error) {
        fail(error)
      }
    }
    const onEnd = (): void => {
      stop()
      load.keepBody(upload)
      const [first = EMPTY] = chunks
      resolve(chunks.length <= 1 ? first : Buffer.concat(chunks, received))
    }
    const onBroken = (): void => {
      fail(new ServiceError('invalid_request', { detail: 'the connection broke before the end of the body' }))
    }
    upload.cutOff = fail
    request.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken)
    // The connection may have broken while this gateway asked another one about the rate. No later event would report that.
    if (request.destroyed) onBroken()
  })
}

/**
 * The most members that an accepted body can have. The longest body is an envelope with a post of 16,000 characters. The
 * envelope has at most 12 members, and each member of the post takes at least 5 characters, as in `"":0}`.
 */
const MEMBERS_MAX = 12 + LIMITS.postCharacters / 5

/**
 * Parses a body that an operation needs.
 * @param names members that the operation declares. If a body has more members than any accepted body, only these are read.
 * @throws ServiceError `unsupported_media_type`, before any parsing; `invalid_json` if it is empty or not I-JSON (spec 2.5).
 */
export function parseJsonBody(body: RequestBody, names: ReadonlySet<string>): ParsedJson | JsonOutline {
  if (body.bytes.length > 0 && !isJson(body)) throw new ServiceError('unsupported_media_type')
  try {
    return parseOrOutline(body.bytes, { membersMax: MEMBERS_MAX, names })
  } catch (error) {
    if (!(error instanceof IJsonError)) throw error
    throw new ServiceError('invalid_json', {
      detail: `the body is not I-JSON (RFC 7493): ${error.message}`,
      cause: error,
    })
  }
}

/** Refuses a body on an operation that takes none. The body cannot be ignored, because the signature covers it (spec 3.10). */
export function refuseBody({ bytes }: RequestBody): void {
  if (bytes.length > 0) throw new ServiceError('invalid_request', { detail: 'this operation takes no body' })
}

/** Each `charset` parameter is utf-8. Other parameters are ignored, with the `;` and `charset=` in their quoted texts. */
const JSON_TYPE =
  /^application\/json[ \t]*(?:;(?:[ \t]*charset=(?:utf-8|"utf-8")[ \t]*|(?![ \t]*charset=)[^;"]*(?:"(?:\\.|[^"\\])*"[^;"]*)*))*$/i

/** Whether the body is uncompressed `application/json` in UTF-8 (RFC 8259). RFC 9110 answers an unknown coding with 415 too. */
function isJson({ contentType = '', contentEncoding }: RequestBody): boolean {
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity') return false
  return contentType === 'application/json' || JSON_TYPE.test(contentType)
}
