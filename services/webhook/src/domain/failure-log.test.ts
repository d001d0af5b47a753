import { expect, test } from 'vitest'
import { createFailureLog, type FailedAttempt } from './failure-log.ts'

function startLog() {
  const lines: (FailedAttempt & { left_out?: number })[] = []
  const clock = { ms: 0 }
  const log = createFailureLog(
    (fields) => void lines.push(fields),
    () => clock.ms,
  )
  const fail = (host: string, attempt = 1, reason = 'status 500'): void => log({ host, reason, attempt, attempts: 5 })
  return { lines, clock, fail }
}

test('the same failure of a host is one line a minute; another host, attempt or reason is another line', () => {
  const { lines, clock, fail } = startLog()
  for (let time = 0; time < 3; time += 1) {
    fail('a.example')
    fail('b.example')
    fail('a.example', 2)
    fail('a.example', 1, 'status 502')
  }
  expect(lines).toHaveLength(4)
  clock.ms = 60_000
  fail('a.example')
  expect(lines).toHaveLength(5)
  expect(lines.at(-1)).toEqual({ host: 'a.example', reason: 'status 500', attempt: 1, attempts: 5, left_out: 8 })
})

test('a flood of failing hosts is 300 lines a minute, and then one count', () => {
  const { lines, clock, fail } = startLog()
  for (let host = 0; host < 10_000; host += 1) fail(`${host}.example`)
  expect(lines).toHaveLength(300)
  clock.ms = 60_000
  fail('a.example')
  fail('b.example')
  expect(lines.slice(300).map(({ left_out }) => left_out)).toEqual([9_700, undefined])
})
