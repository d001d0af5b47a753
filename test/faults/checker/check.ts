import { attemptsOf } from '../history/attempts.ts'
import type { Entry } from '../history/history.ts'
import { type BookLimits, checkBooks } from './books.ts'
import { checkDurability } from './durability.ts'
import type { Final } from './final.ts'
import { sendsById } from './sends.ts'
import type { Violation } from './violation.ts'

export interface CheckOptions {
  readonly limits: BookLimits
  /** When the final reads began and ended. */
  readonly readFromMs: number
  readonly readUntilMs: number
}

/** Everything that a history and the state that it ended in must have, whatever was broken on the way. */
export function check(entries: readonly Entry[], final: Final, options: CheckOptions): Violation[] {
  const attempts = attemptsOf(entries)
  const sends = sendsById(attempts, final)
  const grants = entries.filter((entry) => entry.type === 'grant')
  const noticed = entries.filter((entry) => entry.type === 'problem')
  return [
    ...noticed.map(({ rule, text }) => ({ rule, text })),
    ...checkDurability(sends, final, options),
    ...checkBooks(sends, grants, final, options.limits),
  ]
}
