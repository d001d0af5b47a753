/** Base-36 digits of a time in microseconds. Enough for every time that a double holds exactly. */
const TIME_DIGITS = 11
/** Random bytes make the id unguessable, because the id is all that protects an unlisted board. */
export const RANDOM_BYTES = 10

/**
 * Makes the id of a board: its creation time in base 36, then random bytes in hex. Ids sort by creation (spec 2.9).
 * @param createdUs Unix time in microseconds.
 * @param random `RANDOM_BYTES` bytes.
 */
export function boardId(createdUs: number, random: Uint8Array): string {
  return createdUs.toString(36).padStart(TIME_DIGITS, '0') + Buffer.from(random).toString('hex')
}
