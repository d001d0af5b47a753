import { ERRORS, type ErrorCode, ServiceError } from '@svc/contracts/errors.ts'
import { describe, expect, test, vi } from 'vitest'
import { asServiceError, errorAnswer } from './errors.ts'

const CODES = Object.keys(ERRORS) as ErrorCode[]

describe('spec 4.1, 4.2, 4.3: the answer to an error', () => {
  test.each(CODES)('the answer to %s has the shape of an error, and its status', (code) => {
    const answer = errorAnswer(new ServiceError(code))
    expect(answer.status).toBe(ERRORS[code].status)
    expect(JSON.parse(answer.text)).toEqual({ error: { code, message: ERRORS[code].message } })
  })

  test.each(CODES.filter((code) => ERRORS[code].status === 429))('%s has Retry-After', (code) => {
    expect(Number(errorAnswer(new ServiceError(code)).headers?.['retry-after'])).toBeGreaterThan(0)
    expect(errorAnswer(new ServiceError(code, { retryAfterSeconds: 17 })).headers?.['retry-after']).toBe('17')
  })

  test.each<ErrorCode>(['budget_exhausted', 'hard_limit_reached', 'introduction_limit_reached'])(
    '%s: the seconds to the next UTC midnight, even if budget did not give them',
    (code) => {
      vi.useFakeTimers({ now: new Date('2026-03-01T23:59:00.500Z') })
      try {
        expect(errorAnswer(new ServiceError(code)).headers).toEqual({ 'retry-after': '60' })
      } finally {
        vi.useRealTimers()
      }
    },
  )

  test('a detail takes the place of the general text, but never that of internal', () => {
    const shown = (error: ServiceError) => JSON.parse(errorAnswer(error).text).error.message
    expect(shown(new ServiceError('invalid_request', { detail: 'limit is wrong' }))).toBe('limit is wrong')
    expect(shown(new ServiceError('internal', { detail: 'secret' }))).toBe(ERRORS.internal.message)
    expect(shown(asServiceError(new Error('secret')))).toBe(ERRORS.internal.message)
  })

  test('anything else thrown is internal, and kept as its cause', () => {
    const cause = new TypeError('boom')
    expect(asServiceError(cause)).toMatchObject({ code: 'internal', cause })
    expect(asServiceError('a string')).toMatchObject({ code: 'internal', cause: 'a string' })
  })
})
