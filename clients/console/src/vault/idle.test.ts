import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startIdleClock } from './idle.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

function start(limitMs: number) {
  const onIdle = vi.fn()
  return { clock: startIdleClock({ limitMs, onIdle }), onIdle }
}

test('the vault is idle once nothing happened for the limit', () => {
  const { clock, onIdle } = start(60_000)
  vi.advanceTimersByTime(59_000)
  clock.note()
  vi.advanceTimersByTime(59_000)
  expect(onIdle).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1_000)
  expect(onIdle).toHaveBeenCalledOnce()
})

test('after a sleep of the computer, the first input does not keep the vault open', () => {
  const { clock, onIdle } = start(60_000)
  vi.setSystemTime(Date.now() + 3_600_000) // timers stand still meanwhile
  clock.note()
  expect(onIdle).toHaveBeenCalledOnce()
})

test('a limit of 0 never locks, and a new limit counts from the last input', () => {
  const { clock, onIdle } = start(0)
  vi.advanceTimersByTime(86_400_000)
  clock.note()
  expect(onIdle).not.toHaveBeenCalled()
  clock.setLimit(60_000)
  vi.advanceTimersByTime(60_000)
  expect(onIdle).toHaveBeenCalledOnce()
})
