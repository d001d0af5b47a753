import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { chargeOfMessage, costUnits } from './price.ts'

describe('spec 11.2: ceil(payload_bytes / 1024) times the recipients, at least 1', () => {
  test.each([
    [1, 1, 1],
    [1024, 1, 1],
    [1025, 1, 2],
    [16384, 1, 16],
    [32768, 100, 3200],
    [32767, 3, 96],
    [10, 0, 1],
    [5000, 0, 1],
  ])('%d bytes to %d: %d', (bytes, recipients, units) => {
    expect(costUnits(bytes, recipients)).toBe(units)
  })

  test('property: never below 1, never falls with bytes or recipients, and doubles with them', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 32768 }), fc.integer({ min: 1, max: 100 }), (bytes, recipients) => {
        const units = costUnits(bytes, recipients)
        expect(Number.isInteger(units)).toBe(true)
        expect(units).toBeGreaterThanOrEqual(1)
        expect(costUnits(bytes + 1, recipients)).toBeGreaterThanOrEqual(units)
        expect(costUnits(bytes, recipients * 2)).toBe(units * 2)
        expect(costUnits(bytes + 1024, recipients)).toBe(units + recipients)
      }),
    )
  })
})

test('spec 11.5: a DM introduces its recipient, except a message to oneself', () => {
  const message = { id: 'one', digest: 'ab', sender: 'alice', recipient: 'bob', payloadBytes: 1025 }
  expect(chargeOfMessage(message)).toMatchObject({ agentId: 'alice', units: 2, introductionPeer: 'bob' })
  expect(chargeOfMessage({ ...message, recipient: 'alice' }).introductionPeer).toBeNull()
})
