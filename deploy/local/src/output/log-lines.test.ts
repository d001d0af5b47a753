import { describe, expect, test } from 'vitest'
import { formatLogEvent, parseLogLine } from './log-lines.ts'

const NOON = new Date(2026, 10, 20, 12, 0, 0, 7).getTime()

function lineOf(record: unknown, colour = false): string {
  return formatLogEvent('budget-1', parseLogLine(JSON.stringify(record), NOON), colour)
}

describe('one line for each event', () => {
  test.each([
    [30, 'info '],
    [40, 'WARN '],
    [50, 'ERROR'],
    [60, 'FATAL'],
  ])('level %i shows as %s', (level, shown) => {
    const line = lineOf({
      level,
      time: new Date(NOON).toISOString(),
      service: 'budget',
      pid: 1,
      msg: 'ready',
      port: 80,
    })
    expect(line).toBe(`12:00:00.007 budget-1     ${shown} ready port=80`)
  })

  test('an error shows its message, without the stack', () => {
    const err = { type: 'Error', message: 'no: route', stack: 'Error: no\n    at x' }
    expect(lineOf({ level: 50, time: NOON, msg: 'failed', err })).toMatch(/ERROR failed err="no: route"$/)
  })

  test('a logged value cannot move the cursor, change colours or begin a line', () => {
    const line = lineOf({ level: 30, time: NOON, msg: 'a\nb\x1b[2Jc', field: 'x\r\x07\u009b y' })
    expect(line).not.toMatch(/[^\x20-\x7e]/)
  })

  test('a long value is truncated', () => {
    expect(lineOf({ level: 30, time: NOON, msg: '', field: 'x'.repeat(5_000) }).length).toBeLessThan(300)
  })

  test('a line that is not JSON stands out as a warning', () => {
    const event = parseLogLine('Segmentation fault', NOON)
    expect(formatLogEvent('budget-1', event, false)).toMatch(/WARN {2}Segmentation fault$/)
  })

  test.each(['{', '{}', '[]', '{"level":"x"}', ''])('%j is shown as it is', (text) => {
    expect(parseLogLine(text, NOON)).toMatchObject({ level: 40, message: text })
  })

  test('colours only if requested', () => {
    expect(lineOf({ level: 50, time: NOON, msg: 'bad' }, true)).toContain('\x1b[1;31mERROR bad')
  })
})
