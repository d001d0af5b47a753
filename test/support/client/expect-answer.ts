import { expect } from 'vitest'
import type { HttpAnswer } from './agent.ts'

/** On a busy machine an answer may be late, because the test awaited several answers together. */
const CLOCK_MS = 60_000

/** Checks the headers that every answer has (spec 3.14). */
export function expectStamped({ headers }: HttpAnswer): void {
  expect(headers.get('x-request-id')).toMatch(/^\S+$/)
  expect(Math.abs(Date.parse(headers.get('date') ?? '') - Date.now())).toBeLessThan(CLOCK_MS)
}

/**
 * Checks an error in the form of spec 4.1: this status, exactly `code` and `message`, JSON, with the headers of every
 * answer.
 */
export function expectError(answer: HttpAnswer, status: number, code: string): void {
  const { error } = answer.body ?? {}
  expect({ status: answer.status, code: error?.code }, answer.text).toEqual({ status, code })
  expect(answer.body).toEqual({ error: { code, message: expect.stringMatching(/\S/) } })
  expect(answer.headers.get('content-type')).toMatch(/^application\/json(;|$)/)
  expectStamped(answer)
  if (status === 429) expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/) // every 429 has it (spec 4.2)
}
