import { createHash } from 'node:crypto'
import { ServiceError } from '@svc/contracts/errors.ts'

/**
 * The numbers that name a place in each message list (spec 7.9). An inbox is ordered by event cursor, an export by acceptance,
 * and a feed by the position in the board's log.
 */
interface Places {
  inbox: readonly [position: number]
  export: readonly [batch: number, ordinal: number]
  feed: readonly [position: number]
}

/** The place before the first message. */
export const START: { readonly [List in keyof Places]: Places[List] } = { inbox: [0], export: [0, 0], feed: [0] }

const NUMBER_BYTES = 8
const SEAL_BYTES = 8

/**
 * The `next_cursor` of a list: base64url of the place and a checksum over list, owner and place. The checksum rejects damaged
 * cursors and those of other lists or owners, in every process and for ever.
 *
 * It is deliberately not an HMAC. A forged cursor only names a place in a list that its reader may read anyway. A key would be
 * one more secret that all processes share, and changing it would invalidate every cursor.
 * @param ownerId the agent that owns the list; the board for a feed.
 */
export function encodeCursor<List extends keyof Places>(list: List, ownerId: string, place: Places[List]): string {
  const numbers = Buffer.alloc(place.length * NUMBER_BYTES)
  for (const [index, number] of place.entries()) numbers.writeBigUInt64BE(BigInt(number), index * NUMBER_BYTES)
  return Buffer.concat([numbers, sealOf(list, ownerId, numbers)]).toString('base64url')
}

/**
 * The place that `encodeCursor` encoded for this list and owner. The filter of the list does not matter (spec 7.9).
 * @throws ServiceError `invalid_cursor` for any other text.
 */
export function decodeCursor<List extends keyof Places>(list: List, ownerId: string, text: string): Places[List] {
  const bytes = Buffer.from(text, 'base64url')
  const numbers = bytes.subarray(0, START[list].length * NUMBER_BYTES)
  const place = START[list].map((_, index) => readNumber(numbers, index * NUMBER_BYTES))
  // Buffer.from skips characters that are not base64url, so accept only the exact text that we would issue.
  const issued =
    place.every((number) => Number.isSafeInteger(number)) &&
    encodeCursor(list, ownerId, place as unknown as Places[List]) === text
  if (!issued) throw new ServiceError('invalid_cursor')
  return place as unknown as Places[List]
}

function readNumber(bytes: Buffer, at: number): number {
  return bytes.length < at + NUMBER_BYTES ? Number.NaN : Number(bytes.readBigUInt64BE(at))
}

function sealOf(list: string, ownerId: string, numbers: Buffer): Buffer {
  return createHash('sha256').update(`cursor ${list} ${ownerId} `).update(numbers).digest().subarray(0, SEAL_BYTES)
}
