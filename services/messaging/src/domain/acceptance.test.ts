import { ServiceError } from '@svc/contracts/errors.ts'
import { describe, expect, test } from 'vitest'
import { checkReferences, checkTime, expiryCap } from './acceptance.ts'

const NOW_MS = 1_800_000_000_500

function outcome(work: () => void): string {
  try {
    work()
    return 'ok'
  } catch (error) {
    if (error instanceof ServiceError) return error.code
    throw error
  }
}

const facts = (ts_ms: number, ttl: number) => ({
  id: 'message-1',
  digest: '0'.repeat(64),
  ts_ms,
  ttl,
  reply_to: null,
  thread_id: null,
  payload_bytes: 1,
})

describe('spec 6.7, 11.7: the window of ts', () => {
  test.each([
    [-300_000, 'ok'],
    [-300_001, 'envelope_timestamp_out_of_range'],
    [0, 'ok'],
    [60_000, 'ok'],
    [60_001, 'envelope_timestamp_out_of_range'],
  ])('ts %d ms from now: %s', (offset, expected) => {
    expect(outcome(() => checkTime(facts(NOW_MS + offset, 0), NOW_MS))).toBe(expected)
  })
})

describe('spec 6.7: ts plus a positive ttl must be in the future', () => {
  test.each([
    [-10_500, 10, 'expired'],
    [-10_500, 11, 'ok'],
    [-500, 1, 'ok'],
    [0, 0, 'ok'],
    [0, Number.MAX_SAFE_INTEGER, 'ok'],
  ])('ts %d ms from now, ttl %d: %s', (offset, ttl, expected) => {
    expect(outcome(() => checkTime(facts(NOW_MS + offset, ttl), NOW_MS))).toBe(expected)
  })

  test('the cap is ts plus ttl in whole seconds, absent without a ttl, and never beyond a safe integer', () => {
    expect(expiryCap(facts(1_999, 3))).toBe(4)
    expect(expiryCap(facts(1_999, 0))).toBeNull()
    expect(expiryCap(facts(NOW_MS, Number.MAX_SAFE_INTEGER))).toBe(Number.MAX_SAFE_INTEGER)
  })
})

describe('spec 6.9: references stay within the conversation, and threads name a root', () => {
  const same = { sameConversation: true, root: true }
  const member = { sameConversation: true, root: false }
  const other = { sameConversation: false, root: true }
  test.each([
    ['nothing', undefined, undefined, 'ok'],
    ['a reply in the conversation', same, undefined, 'ok'],
    ['a reply to a member of a thread', member, undefined, 'ok'],
    ['a reply elsewhere', other, undefined, 'invalid_reference'],
    ['a thread of the conversation', undefined, same, 'ok'],
    ['a thread that is not a root', undefined, member, 'invalid_reference'],
    ['a thread elsewhere', undefined, other, 'invalid_reference'],
    ['a good reply and a bad thread', same, other, 'invalid_reference'],
    ['a bad reply and a good thread', other, same, 'invalid_reference'],
  ])('%s', (_name, reply, thread, expected) => {
    expect(outcome(() => checkReferences(reply, thread))).toBe(expected)
  })
})
