import { LRUCache } from 'lru-cache'
import type { Standing } from '../../domain/admission.ts'

/** How a recipient treats a sender, and the version of the recipient's log when this was read. */
interface KnownStanding {
  readonly standing: Standing
  readonly standingVersion: number
}

/**
 * A cache of the standings of pairs whose messages go straight to the inbox. An entry may be stale, but the append checks it
 * against the log under the log's lock. So a stale entry costs another lookup, but never lets a message in.
 */
export interface Standings {
  recall(sender: string, recipient: string): KnownStanding | undefined
  remember(sender: string, recipient: string, known: KnownStanding): void
}

/** About 300 bytes each. A full cache evicts the least recently used pair, which is then looked up again. */
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
