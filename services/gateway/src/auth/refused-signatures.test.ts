import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { RefusedSignatures } from './refused-signatures.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

function counting() {
  const events: unknown[] = []
  const refused = new RefusedSignatures({ note: (...event) => void events.push(event) })
  const refuse = (agentId: string, times: number): void => {
    for (let time = 0; time < times; time += 1) refused.note(agentId)
  }
  return { events, refused, refuse }
}
const event = (agentId: string, count: number) => ['signatures_refused', agentId, { count, window_seconds: 60 }]

test('many refusals in a window are one event with their count; few are none', () => {
  const { events, refuse } = counting()
  refuse('anna', 500)
  refuse('ben', 19)
  vi.advanceTimersByTime(59_999)
  expect(events).toEqual([])
  vi.advanceTimersByTime(1)
  expect(events).toEqual([event('anna', 500)])
  // Refusals of different windows are not added up.
  refuse('ben', 19)
  refuse('anna', 20)
  vi.advanceTimersByTime(60_000)
  expect(events).toEqual([event('anna', 500), event('anna', 20)])
  vi.advanceTimersByTime(600_000)
  expect(events).toHaveLength(2)
})

test('an attacker with many ids takes bounded memory, and the agents that were refused last are kept', () => {
  const { events, refused, refuse } = counting()
  refuse('first', 20)
  for (let other = 0; other < 10_000; other += 1) refused.note(`other-${other}`)
  refuse('last', 20)
  refused[Symbol.dispose]()
  expect(events).toEqual([event('last', 20)])
})
