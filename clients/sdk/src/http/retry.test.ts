import { ERRORS, type ErrorCode } from '@svc/contracts/errors.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AnswerError, ApiError, NetworkError } from '../errors.ts'
import { DEFAULT_RETRY, delayBeforeRetry } from './retry.ts'

const codes = Object.keys(ERRORS) as ErrorCode[]
const REPEATED: ErrorCode[] = [
  'unavailable',
  'internal',
  'rate_limited',
  'nonce_replayed',
  'stream_limit',
  'stream_capacity',
]

function refusal(code: ErrorCode, retryAfterSeconds?: number): ApiError {
  return new ApiError({ status: ERRORS[code].status, code, message: '', retryAfterSeconds })
}

function foreign(status: number): ApiError {
  return new ApiError({ status, code: 'overloaded', message: 'a proxy says this' })
}

test.each(codes)('spec 13.2: %s is retried if and only if it is transient', (code) => {
  const delayMs = delayBeforeRetry(refusal(code, 1), 1, DEFAULT_RETRY, Math.random)
  expect(delayMs !== undefined).toBe(REPEATED.includes(code))
})

test.each([
  ['a network fault', new NetworkError('cut'), true],
  ["a proxy's 502", new AnswerError('page', { status: 502 }), true],
  ["a proxy's 503", new AnswerError('page', { status: 503 }), true],
  ["a proxy's 504", new AnswerError('page', { status: 504 }), true],
  ["a proxy's 429", new AnswerError('page', { status: 429 }), true],
  ["a proxy's 503 in the form of the API", foreign(503), true],
  ["a proxy's 429 in the form of the API", foreign(429), true],
  ['an unknown refusal', foreign(403), false],
  ['a page with 200', new AnswerError('page', { status: 200 }), false],
  ['a mistake of the caller', new TypeError('no key'), false],
])('%s', (_, failure, repeated) => {
  expect(delayBeforeRetry(failure, 1, DEFAULT_RETRY, Math.random) !== undefined).toBe(repeated)
})

describe('waits', () => {
  test('grow to a maximum, and end after the last attempt', () => {
    const policy = { attempts: 5, baseDelayMs: 100, maxDelayMs: 400, maxRetryAfterSeconds: 10 }
    const longest = [1, 2, 3, 4, 5].map((attempt) => delayBeforeRetry(new NetworkError(''), attempt, policy, () => 1))
    const shortest = [1, 2, 3, 4, 5].map((attempt) => delayBeforeRetry(new NetworkError(''), attempt, policy, () => 0))
    expect(longest).toEqual([100, 200, 400, 400, undefined])
    expect(shortest).toEqual([50, 100, 200, 200, undefined])
  })

  test('are never shorter than Retry-After, and a Retry-After that is too long ends the call', () => {
    const page = (retryAfterSeconds: number) => new AnswerError('page', { status: 503, retryAfterSeconds })
    fc.assert(
      fc.property(
        fc.constantFrom(
          page,
          (seconds: number) => refusal('rate_limited', seconds),
          (seconds: number) => refusal('unavailable', seconds),
        ),
        fc.integer({ min: 0, max: 100_000 }),
        fc.integer({ min: 1, max: 5 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (failure, seconds, attempt, random) => {
          const delayMs = delayBeforeRetry(failure(seconds), attempt, DEFAULT_RETRY, () => random)
          if (seconds > DEFAULT_RETRY.maxRetryAfterSeconds) expect(delayMs).toBeUndefined()
          else {
            expect(delayMs).toBeGreaterThanOrEqual(seconds * 1000)
            expect(delayMs).toBeLessThanOrEqual(seconds * 1000 + DEFAULT_RETRY.maxDelayMs)
          }
        },
      ),
    )
  })

  test('differ between clients that were refused at the same time', () => {
    const delays = [0, 0.3, 0.9].map((random) =>
      delayBeforeRetry(refusal('rate_limited', 2), 1, DEFAULT_RETRY, () => random),
    )
    expect(new Set(delays).size).toBe(3)
  })
})
