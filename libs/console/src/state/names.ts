import { LIMITS } from '@svc/contracts/limits.ts'

const NAME = new RegExp(`^[a-z0-9][a-z0-9_-]{${LIMITS.nameLengthMin - 1},${LIMITS.nameLengthMax - 1}}$`)
const BOARD_ID = /^[a-z0-9]{20,40}$/

/** Whether a text can be the name of an agent (spec 2.8). */
export function isName(text: string): boolean {
  return NAME.test(text)
}

/** The name that a person means by a typed text. Names have no capital letters and no spaces (spec 2.8). */
export function nameFrom(typed: string): string {
  return typed.toLowerCase().replaceAll(/\s+/g, '-')
}

/** Whether a text can be the id of a board (spec 2.9). */
export function isBoardId(text: string): boolean {
  return BOARD_ID.test(text)
}
