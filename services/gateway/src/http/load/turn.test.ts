import { expect, test } from 'vitest'
import { createTurn } from './turn.ts'

test('a turn of the event loop counts CPU time, and not what other programs used; the next turn begins at zero', async () => {
  let [nowMs, cpuMs] = [0, 0]
  const turn = createTurn({ now: () => nowMs, cpu: () => cpuMs })
  expect(turn.hasUsed(10)).toBe(false)
  nowMs = 1_000
  expect(turn.hasUsed(10)).toBe(false)
  cpuMs = 11
  expect(turn.hasUsed(10)).toBe(true)
  await new Promise(setImmediate)
  expect(turn.hasUsed(10)).toBe(false)
})
