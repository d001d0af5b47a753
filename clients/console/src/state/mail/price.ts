/** The price of a message before it is sent (spec 6.5, 11.2). */
import { costUnits } from '@svc/contracts/price.ts'
import {
  bodySize,
  DM_SIZE_LIMITS,
  fits,
  type PayloadSize,
  POST_SIZE_LIMITS,
  type SizeLimits,
} from '@svc/envelope/size.ts'

export interface Size extends PayloadSize {
  readonly limits: SizeLimits
  readonly units: number
}

/** A sealed payload holds the body, the signature as base64 of 64 bytes, and a tag of 16 bytes (spec 6.4). */
const SIGNATURE_TEXT = 'x'.repeat(88)
const TAG_BYTES = 16

/** @param recipients subscribers of a board without the author; 1 for a direct message. */
export function sizeOf(body: unknown, options: { sealed: boolean; isPost: boolean; recipients: number }): Size {
  const size = options.sealed
    ? { bytes: bodySize({ body, sig: SIGNATURE_TEXT }).bytes + TAG_BYTES, characters: undefined }
    : bodySize(body)
  const limits = options.isPost ? POST_SIZE_LIMITS : DM_SIZE_LIMITS
  return { ...size, limits, units: costUnits(size.bytes, Math.max(1, options.recipients)) }
}

export function isTooLarge({ limits, ...size }: Size): boolean {
  return !fits(size, limits)
}
