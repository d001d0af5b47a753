import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach } from 'vitest'

/** Longer than most tests take. */
const ROOM_MS = 20_000
const DAY_MS = 24 * 60 * 60 * 1000

// Budgets are reset at midnight UTC, so a test with several requests must not run across midnight.
beforeEach(async () => {
  const leftMs = DAY_MS - (Date.now() % DAY_MS)
  if (leftMs < ROOM_MS) await sleep(leftMs)
})
