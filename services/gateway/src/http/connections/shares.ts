/** How much each client has asked for lately, compared with the others. */
interface Shares {
  add(client: string, amount: number): void
  /** Whether the client has asked for more than the average of all clients that asked for anything. A single client never has. */
  isAboveAverage(client: string): boolean
}

/** After this time, every amount counts half. */
const HALF_LIFE_MS = 1_000
/** A client with less than this is forgotten, so only clients of the last seconds take memory. */
const LEAST = 1_024

export function createShares(now: () => number = () => performance.now()): Shares {
  const amounts = new Map<string, number>()
  let total = 0
  let nextMs = 0

  return {
    add(client, amount) {
      halve()
      amounts.set(client, (amounts.get(client) ?? 0) + amount)
      total += amount
    },
    isAboveAverage(client) {
      halve()
      return (amounts.get(client) ?? 0) * amounts.size > total
    },
  }

  function halve(): void {
    const nowMs = now()
    if (nowMs < nextMs) return
    nextMs = nowMs + HALF_LIFE_MS
    total = 0
    for (const [client, amount] of amounts) {
      if (amount < 2 * LEAST) amounts.delete(client)
      else amounts.set(client, amount / 2)
      total += amounts.get(client) ?? 0
    }
  }
}
