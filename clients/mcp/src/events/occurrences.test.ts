import { expect, test } from 'vitest'
import type { Mailbox } from '../mailbox.ts'
import { readBatch } from './occurrences.ts'

test.each([
  ['stays at the cursor', 7, 7],
  ['goes back', 3, 7],
])('a log that claims more but %s has ended, so no caller asks without rest', async (_, next, cursor) => {
  let asked = 0
  const page = async (): Promise<object> => {
    asked += 1
    return { items: [], next, earliest: 1, latest: 1_000_000 }
  }
  const mailbox = { client: { events: () => ({ page }) }, policy: { eventText: false } } as unknown as Mailbox
  const place = { after: 7, limit: 20 }
  const batch = await readBatch(mailbox, async () => true, place, new AbortController().signal)
  expect({ ...batch, asked }).toEqual({ occurrences: [], from: 7, cursor, truncated: false, more: false, asked: 1 })
})
