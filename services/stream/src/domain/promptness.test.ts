import { expect, test } from 'vitest'
import { Promptness } from './promptness.ts'

test('an event counts if it was accepted after the stream had caught up', () => {
  const promptness = new Promptness()
  expect(promptness.secondsSince(1_000, 2_000)).toBeUndefined()
  promptness.caughtUp(3_000)
  promptness.caughtUp(9_000)
  const seconds = [2_999, 3_000, 4_000, 6_000, undefined].map((acceptedMs) =>
    promptness.secondsSince(acceptedMs, 5_000),
  )
  expect(seconds).toEqual([undefined, 2, 1, 0, undefined])
})

test('an event does not count if the stream waited for its reader, until it has caught up again', () => {
  const promptness = new Promptness()
  promptness.caughtUp(1_000)
  promptness.waitsForReader()
  expect(promptness.secondsSince(2_000, 3_000)).toBeUndefined()
  promptness.caughtUp(3_000)
  expect([2_000, 3_500].map((acceptedMs) => promptness.secondsSince(acceptedMs, 4_000))).toEqual([undefined, 0.5])
})
