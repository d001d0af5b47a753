import { describe, expect, test } from 'vitest'
import { LATE_MS, Register } from './register.ts'

/** The initial value is `none`; times are milliseconds. */
function written(...writes: (readonly [value: string, startMs: number, endMs: number | null])[]): Register<string> {
  const register = new Register('none')
  for (const [value, startMs, endMs] of writes) {
    if (endMs === null) register.mayHaveWritten(value, startMs)
    else register.wrote(value, startMs, endMs)
  }
  return register
}

describe('the possible values', () => {
  test.each([
    ['before any write', written(['a', 10, 20]), [0, 5], ['none']],
    ['during the write', written(['a', 10, 20]), [12, 15], ['a', 'none']],
    ['after the answer', written(['a', 10, 20]), [21, 30], ['a']],
    ['across the whole write', written(['a', 10, 20]), [0, 30], ['a', 'none']],
    ['after two writes in a row', written(['a', 10, 20], ['b', 21, 30]), [31, 40], ['b']],
    ['after two overlapping writes, either value', written(['a', 10, 20], ['b', 15, 30]), [31, 40], ['a', 'b']],
    ['after a write without an answer', written(['a', 10, null]), [50, 60], ['a', 'none']],
    [
      'after an answered write that began while the unanswered one could still take effect',
      written(['a', 10, null], ['b', 20, 30]),
      [31, 40],
      ['a', 'b'],
    ],
    [
      'after an answered write that began later',
      written(['a', 10, null], ['b', 20 + LATE_MS, 30 + LATE_MS]),
      [31 + LATE_MS, 40 + LATE_MS],
      ['b'],
    ],
  ] as const)('%s', (_, register, [fromMs, untilMs], values) => {
    expect([...register.possible(fromMs, untilMs)].toSorted()).toEqual([...values])
  })
})
