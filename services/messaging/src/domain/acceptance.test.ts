import { ServiceError } from '@svc/contracts/errors.ts'
import { readEnvelope } from '@svc/envelope/envelope.ts'
import { readVectors } from '@svc/test/support/vectors.ts'
import { describe, expect, test } from 'vitest'
import { checkReferences, checkTime, expiryCap } from './acceptance.ts'

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

interface Sent {
  about: string
  envelope: string
  code: string | null
}
const { clock, cases } = readVectors<{ clock: string; cases: Sent[] }>('refused-envelopes.json')
const TIMELY = ['envelope_timestamp_out_of_range', 'expired', null]

test.each(cases.filter(({ code }) => TIMELY.includes(code)))('spec 6.7, 11.7: $about: $code', ({ envelope, code }) => {
  const { tsMs, ttl } = readEnvelope(JSON.parse(envelope))
  expect(outcome(() => checkTime(facts(tsMs, ttl), Date.parse(clock)))).toBe(code ?? 'ok')
})

test('spec 6.7: the cap is ts plus ttl in whole seconds, absent without a ttl, and never beyond a safe integer', () => {
  expect(expiryCap(facts(1_999, 3))).toBe(4)
  expect(expiryCap(facts(1_999, 0))).toBeNull()
  expect(expiryCap(facts(1_999, Number.MAX_SAFE_INTEGER))).toBe(Number.MAX_SAFE_INTEGER)
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
