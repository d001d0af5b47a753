import type { SendResult } from '@svc/contracts/resources.ts'
import { LRUCache } from 'lru-cache'

/**
 * Which agents' messages went straight to whose inbox lately. A hint, for what may be done ahead of admission: what it says may
 * be out of date, and messaging decides as if it were not there.
 */
export interface FamiliarPairs {
  has(sender: string, recipient: string): boolean
  /** @param result of the last message between them; undefined where that was refused. */
  note(sender: string, recipient: string, result: SendResult | undefined): void
}

/** Some 200 bytes each; past that the pair used longest ago is as a stranger to the other. */
const MAX_PAIRS = 50_000

export function createFamiliarPairs(): FamiliarPairs {
  const pairs = new LRUCache<string, true>({ max: MAX_PAIRS })
  return {
    has: (sender, recipient) => pairs.has(keyOf(sender, recipient)),
    note(sender, recipient, result) {
      if (result?.lane === 'inbox') pairs.set(keyOf(sender, recipient), true)
      else pairs.delete(keyOf(sender, recipient))
    },
  }
}

function keyOf(sender: string, recipient: string): string {
  return `${sender} ${recipient}`
}
