import { expect, test } from 'vitest'
import { hasExpired } from './receipt.ts'

// The service counts from `ts` (spec 6.8). A record is composed later, when a person has consented.
test.each([
  ['ends with its time to live', { ts: -11, ttl: 10, composed: 0 }, true],
  ['does not end before', { ts: -9, ttl: 100, composed: -200 }, false],
  ['without a time to live does not end', { ts: -100, ttl: 0, composed: -100 }, false],
])('a message %s', (_, { ts, ttl, composed }, expected) => {
  const now = Date.now()
  const at = new Date(now + ts * 1_000).toISOString()
  const envelope = { ts: at, ttl } as Parameters<typeof hasExpired>[0]['envelope']
  expect(hasExpired({ envelope, body: '', fingerprint: '', composedAt: Math.floor(now / 1_000) + composed })).toBe(
    expected,
  )
})
