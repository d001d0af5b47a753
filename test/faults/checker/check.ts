import { attemptsOf, ofKind } from '../history/attempts.ts'
import type { Entry } from '../history/history.ts'
import type { Final } from './final.ts'
import { pursesOf } from './purse.ts'
import { checkAnswers } from './rules/answers.ts'
import { checkBoards } from './rules/boards.ts'
import { type BookLimits, checkBooks } from './rules/books.ts'
import { checkDurability } from './rules/durability.ts'
import { checkNonces } from './rules/nonces.ts'
import { checkReads } from './rules/reads.ts'
import { checkStreams } from './rules/streams.ts'
import { checkWebhooks } from './rules/webhooks.ts'
import { sendsById } from './sends.ts'
import type { Violation } from './violation.ts'
import { World } from './world.ts'

interface CheckOptions {
  readonly limits: BookLimits
  /** The start and the end of the final reads. */
  readonly readFromMs: number
  readonly readUntilMs: number
  /** The largest difference between the clocks of services, in milliseconds. */
  readonly skewMs: number
  /** True if there were no faults. */
  readonly calm: boolean
}

/** Checks a history and its final state against all rules. The rules hold under every fault. */
export function check(entries: readonly Entry[], final: Final, options: CheckOptions): Violation[] {
  const attempts = attemptsOf(entries)
  const sends = sendsById(attempts, final)
  const grants = entries.filter((entry) => entry.type === 'grant')
  const world = new World(attempts, sends, options.skewMs)
  const purses = pursesOf(world, grants, options.limits)
  const noticed = entries.filter((entry) => entry.type === 'problem')
  return [
    ...noticed.map(({ rule, text }) => ({ rule, text })),
    ...checkDurability(sends, final, ofKind(attempts, 'contact'), options),
    ...checkBooks(sends, grants, final, options.limits),
    ...checkAnswers(world, purses, options.calm),
    ...checkReads(world, purses, final),
    ...checkStreams(world, entries, final, options.readFromMs),
    ...checkWebhooks(world, entries, final),
    ...checkBoards(world, final, options.readFromMs),
    ...checkNonces(entries),
  ]
}
