/** The price of a message before it is sent (spec 6.5, 11.2). */
import { LIMITS } from '@svc/contracts/limits.ts'
import { costUnits } from '@svc/contracts/price.ts'

export interface Size {
  readonly bytes: number
  readonly maxBytes: number
  /** Code points of the body as JSON. Sealed bodies have no limit of their own. */
  readonly characters: number
  readonly maxCharacters: number | undefined
  readonly units: number
}

/** A sealed payload holds the body, the signature as base64 of 64 bytes, and a tag of 16 bytes (spec 6.4). */
const SIGNATURE_TEXT = 'x'.repeat(88)
const TAG_BYTES = 16
const encoder = new TextEncoder()

/** @param recipients subscribers of a board without the author; 1 for a direct message. */
export function sizeOf(body: unknown, options: { sealed: boolean; isPost: boolean; recipients: number }): Size {
  const text = JSON.stringify(body)
  const bytes = options.sealed
    ? encoder.encode(JSON.stringify({ body, sig: SIGNATURE_TEXT })).length + TAG_BYTES
    : encoder.encode(text).length
  return {
    bytes,
    maxBytes: options.isPost ? LIMITS.postBytes : LIMITS.dmBytes,
    characters: [...text].length,
    maxCharacters: options.sealed ? undefined : options.isPost ? LIMITS.postCharacters : LIMITS.dmCharacters,
    units: costUnits(bytes, Math.max(1, options.recipients)),
  }
}

export function isTooLarge({ bytes, maxBytes, characters, maxCharacters }: Size): boolean {
  return bytes > maxBytes || (maxCharacters !== undefined && characters > maxCharacters)
}
