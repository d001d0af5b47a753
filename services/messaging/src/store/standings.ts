import { LRUCache } from 'lru-cache'
import type { Standing } from '../domain/admission.ts'

/** How a recipient treats a sender, and the version of the recipient's log that said so. */
export interface KnownStanding {
  readonly standing: Standing
  readonly standingVersion: number
}

/**
 * What was found out lately of pairs whose messages go straight to the inbox. It may be out of date: the append holds it against
 * the log under its lock, so a stale one costs a second look and never lets anything in.
 */
export interface Standings {
  recall(sender: string, recipient: string): KnownStanding | undefined
  remember(sender: string, recipient: string, known: KnownStanding): void
}

/** Some 300 bytes each; past that the pair used longest ago is looked up again. */
const MAX_PAIRS = 50_000

export function createStandings(): Standings {
  const pairs = new LRUCache<string, KnownStanding>({ max: MAX_PAIRS })
  return {
    recall: (sender, recipient) => pairs.get(keyOf(sender, recipient)),
    remember: (sender, recipient, { standing, standingVersion }) => {
      pairs.set(keyOf(sender, recipient), { standing, standingVersion })
    },
  }
}

function keyOf(sender: string, recipient: string): string {
  return `${sender} ${recipient}`
}
