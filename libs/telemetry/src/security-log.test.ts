import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createSecurityLog } from './security-log.ts'

test.each([
  [true, 1],
  [false, 0],
])('on: %s, at any level of the log: %i line', (isOn, count) => {
  const lines: string[] = []
  const logger = pino({ level: 'silent', base: {} }, { write: (line: string) => void lines.push(line) })
  createSecurityLog({ logger, isOn, events: ['revocation'] }).note('revocation', 'anna', { request_id: 'r' })
  expect(lines).toHaveLength(count)
  for (const line of lines) {
    expect(JSON.parse(line)).toEqual({
      level: 30,
      time: expect.any(Number),
      security_event: 'revocation',
      agent_id: 'anna',
      request_id: 'r',
      msg: 'security event',
    })
  }
})
