import { LIMITS } from '@svc/contracts/limits.ts'

export interface PayloadSize {
  /** UTF-8 bytes of the body, or the decoded bytes of `body_enc`. */
  readonly bytes: number
  /** Unicode code points of the body's JSON, syntax included; undefined for a sealed payload, whose are not counted. */
  readonly characters: number | undefined
}

export interface SizeLimits {
  readonly bytes: number
  readonly characters: number
}

/** The largest payload of a DM, and of a post (spec 6.5). */
export const DM_SIZE_LIMITS: SizeLimits = { bytes: LIMITS.dmBytes, characters: LIMITS.dmCharacters }
export const POST_SIZE_LIMITS: SizeLimits = { bytes: LIMITS.postBytes, characters: LIMITS.postCharacters }

/** The size of a `body`: of what JSON.stringify writes, which is what is kept, however it was spelled when it was sent (spec 6.5, 6.6). */
export function bodySize(body: unknown): PayloadSize {
  return textSize(JSON.stringify(body))
}

/** UTF-8 bytes and code points of a part of a text without lone surrogates. */
export function textSize(text: string, start = 0, end = text.length): PayloadSize {
  let bytes = end - start
  let characters = end - start
  for (let i = start; i < end; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    if (unit < 0xd800 || unit > 0xdfff) {
      bytes += unit < 0x800 ? 1 : 2
    } else {
      bytes += 1 // a pair has 4
      if (unit < 0xdc00) characters--
    }
  }
  return { bytes, characters }
}

/** Whether a payload keeps to the limits, else 413 `message_too_large`. Both borders are inside. */
export function fits({ bytes, characters }: PayloadSize, limits: SizeLimits): boolean {
  return bytes <= limits.bytes && (characters === undefined || characters <= limits.characters)
}
