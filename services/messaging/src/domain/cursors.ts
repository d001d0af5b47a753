import { createHash } from 'node:crypto'
import { ServiceError } from '@svc/contracts/errors.ts'

/**
 * The numbers that name a place in each message list: of an agent by event cursor or by acceptance, of a board by the
 * position in its log (spec 7.9).
 */
export interface Places {
  inbox: readonly [position: number]
  export: readonly [batch: number, ordinal: number]
  feed: readonly [position: number]
}

/** The place before the first message. */
export const START: { readonly [List in keyof Places]: Places[List] } = { inbox: [0], export: [0, 0], feed: [0] }

const NUMBER_BYTES = 8
const SEAL_BYTES = 8

/**
 * The `next_cursor` of a list: base64url of the place and of a seal, the hash of list, owner and place. The seal tells
 * a cursor of this list from those of other lists, of other owners, and from damaged ones, in every process and for
 * ever. It is no HMAC on purpose: who forges one gets a place in a list that it may read anyway, and a key would be one
 * more secret that all processes share and that voids every cursor when it changes.
 * @param ownerId whose list it is: an agent's, or a board's for a feed.
 */
export function encodeCursor<List extends keyof Places>(list: List, ownerId: string, place: Places[List]): string {
  const numbers = Buffer.alloc(place.length * NUMBER_BYTES)
  for (const [index, number] of place.entries()) numbers.writeBigUInt64BE(BigInt(number), index * NUMBER_BYTES)
  return Buffer.concat([numbers, sealOf(list, ownerId, numbers)]).toString('base64url')
}

/**
 * The place that `encodeCursor` gave for this list of this owner, whatever the filter was (spec 7.9).
 * @throws ServiceError `invalid_cursor` for any other text.
 */
export function decodeCursor<List extends keyof Places>(list: List, ownerId: string, text: string): Places[List] {
  const bytes = Buffer.from(text, 'base64url')
  const numbers = bytes.subarray(0, START[list].length * NUMBER_BYTES)
  const place = START[list].map((_, index) => readNumber(numbers, index * NUMBER_BYTES))
  // The decoder skips what is not base64url: only the one spelling that encodes to these bytes counts.
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
