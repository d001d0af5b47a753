import { LIMITS } from '@svc/contracts/limits.ts'
import { base64ByteLength } from '@svc/svc1/base64.ts'

export interface PayloadSize {
  /** UTF-8 bytes of the body, or the decoded bytes of `body_enc`. */
  readonly bytes: number
  /** Unicode code points of the body's JSON, syntax included. Undefined for a sealed payload, whose characters are not limited. */
  readonly characters: number | undefined
}

export interface SizeLimits {
  readonly bytes: number
  readonly characters: number
}

/** The largest payload of a DM, and of a post (spec 6.5). */
export const DM_SIZE_LIMITS: SizeLimits = { bytes: LIMITS.dmBytes, characters: LIMITS.dmCharacters }
export const POST_SIZE_LIMITS: SizeLimits = { bytes: LIMITS.postBytes, characters: LIMITS.postCharacters }

/** The size of a `body` as JSON.stringify writes it, because the body is stored in that form and not as it was sent (spec 6.5, 6.6). */
export function bodySize(body: unknown): PayloadSize {
  return textSize(JSON.stringify(body))
}

/** UTF-8 bytes and code points of a part of a text. The text must not contain lone surrogates. */
export function textSize(text: string, start = 0, end = text.length): PayloadSize {
  let bytes = end - start
  let characters = end - start
  for (let i = start; i < end; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    if (unit < 0xd800 || unit > 0xdfff) {
      bytes += unit < 0x800 ? 1 : 2
    } else {
      bytes += 1 // a surrogate pair has 2 units and 4 bytes
      if (unit < 0xdc00) characters--
    }
  }
  return { bytes, characters }
}

/** The size of the payload that is limited and charged (spec 6.5). */
export function payloadSize(envelope: { readonly body_enc: string } | { readonly body: unknown }): PayloadSize {
  return 'body_enc' in envelope
    ? { bytes: base64ByteLength(envelope.body_enc) ?? Number.POSITIVE_INFINITY, characters: undefined }
    : bodySize(envelope.body)
}

/** Whether a payload is within the limits, which are inclusive. If not, it is 413 `message_too_large`. */
export function fits({ bytes, characters }: PayloadSize, limits: SizeLimits): boolean {
  return bytes <= limits.bytes && (characters === undefined || characters <= limits.characters)
}

/** What `message_too_large` says: the size, and the limit. Undefined if the payload fits. An infinite size was not measured. */
export function sizeFault(size: PayloadSize, isPost: boolean): string | undefined {
  const [kind, limits] = isPost ? ['a post', POST_SIZE_LIMITS] : ['a direct message', DM_SIZE_LIMITS]
  if (fits(size, limits)) return undefined
  const { bytes, characters } = size
  if (characters === undefined) {
    return `body_enc has ${bytes} bytes when decoded; ${kind} that is sealed can have at most ${limits.bytes} bytes, of which the signature and the seal take about 120 bytes`
  }
  const measured = Number.isFinite(bytes)
    ? `${characters} code points and ${bytes} bytes`
    : `more than ${POST_SIZE_LIMITS.bytes} bytes`
  return `the body has ${measured} of JSON; ${kind} can have at most ${limits.characters} code points and ${limits.bytes} bytes`
}
