import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach } from 'vitest'

/** What most tests take at most. */
const ROOM_MS = 20_000
const DAY_MS = 24 * 60 * 60 * 1000

// Budgets begin anew at midnight UTC: a test that asks twice must not stand on both sides of it.
beforeEach(async () => {
  const leftMs = DAY_MS - (Date.now() % DAY_MS)
  if (leftMs < ROOM_MS) await sleep(leftMs)
})
