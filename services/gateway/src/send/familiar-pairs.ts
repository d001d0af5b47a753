import type { SendResult } from '@svc/contracts/resources.ts'
import { LRUCache } from 'lru-cache'

/**
 * Remembers which sender's last message to which recipient went straight to the inbox. It is only a hint that allows work ahead
 * of admission: it may be out of date, and messaging decides without it.
 */
interface FamiliarPairs {
  has(sender: string, recipient: string): boolean
  /** @param result of the last message from sender to recipient; undefined if it was refused. */
  note(sender: string, recipient: string, result: SendResult | undefined): void
}

/** About 200 bytes each. Past this, the pair used longest ago is forgotten and treated as strangers. */
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
