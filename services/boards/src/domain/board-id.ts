/** Digits of a time in microseconds: enough for every one that a double holds exactly. */
const TIME_DIGITS = 11
/** What nobody can guess: an unlisted board is found by its id alone. */
export const RANDOM_BYTES = 10

/**
 * The id of a board: the time it was created at, in base 36, and what makes it unguessable; ids sort by creation
 * (spec 2.9).
 * @param createdUs Unix time in microseconds. @param random `RANDOM_BYTES` bytes.
 */
export function boardId(createdUs: number, random: Uint8Array): string {
  return createdUs.toString(36).padStart(TIME_DIGITS, '0') + Buffer.from(random).toString('hex')
}
