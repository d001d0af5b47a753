import { ServiceError } from '@svc/contracts/errors.ts'
import { describe, expect, test } from 'vitest'
import type { SendDeps } from '../deps.ts'
import type { Appended } from '../store/append.ts'
import type { Preflight } from '../store/preflight.ts'
import { sendMessage } from './send-message.ts'

const ALICE = 'A'.repeat(44)
const BOB = 'B'.repeat(44)
const DIGEST = 'ab'.repeat(32)

const request = {
  signer: ALICE,
  recipient: { kind: 'agent' as const, id: BOB },
  facts: {
    id: 'message-1',
    digest: DIGEST,
    ts_ms: Date.now(),
    ttl: 0,
    reply_to: null,
    thread_id: null,
    payload_bytes: 10,
  },
  envelope: '{}',
}
const context = { traceparent: '', deadlineMs: Date.now() + 60_000 }
const fresh: Preflight = {
  earlier: undefined,
  recipientRevoked: false,
  standing: { policy: 'requests', contact: 'none', pending: false },
  standingVersion: 0,
  replyTo: undefined,
  thread: undefined,
}

/** Answers in turn, the last one for ever. */
function depsWith(preflights: Preflight[], appends: Appended[]): SendDeps & { lanes: string[] } {
  const lanes: string[] = []
  const next = <T>(list: T[]): T => (list.length > 1 ? list.shift() : list[0]) as T
  return {
    lanes,
    preflight: async () => next(preflights),
    append: async ({ lane }) => {
      lanes.push(lane)
      return next(appends)
    },
    charging: {
      owner: 'messaging',
      charge: (cost, _context, commit) => commit({ operation: cost.operation, deadlineMs: Date.now() + 10_000 }),
      abandon: async () => {},
    },
  }
}

async function outcome(deps: SendDeps): Promise<unknown> {
  try {
    return await sendMessage(deps, request, context)
  } catch (error) {
    if (error instanceof ServiceError) return error.code
    throw error
  }
}

const stale: Appended = { outcome: 'stale', lane: 'requests' }
const accepted: Appended = { outcome: 'accepted', lane: 'inbox' }

describe('decisions 22: what is decided again is decided in the same order', () => {
  const later = (changes: Partial<Preflight>): Preflight => ({ ...fresh, standingVersion: 1, ...changes })
  const pending = { ...fresh.standing, pending: true }

  test.each([
    [
      'decisions 18: another attempt at the same message got through: a duplicate, whatever the standing is now',
      later({ earlier: { digest: DIGEST, sender: ALICE, lane: 'requests' }, standing: pending }),
      { duplicate: true, lane: 'requests' },
    ],
    [
      'decisions 18: another envelope took the id: a conflict, whatever the standing is now',
      later({ earlier: { digest: 'cd'.repeat(32), sender: BOB, lane: 'inbox' }, standing: pending }),
      'id_conflict',
    ],
    ['decisions 13: the recipient was revoked', later({ recipientRevoked: true }), 'recipient_unavailable'],
    [
      'decisions 22: the sender was blocked',
      later({ standing: { ...fresh.standing, contact: 'blocked' } }),
      'admission_denied',
    ],
    ['decisions 22: another message became the request', later({ standing: pending }), 'request_pending'],
    [
      'decisions 23: the sender was accepted',
      later({ standing: { ...fresh.standing, contact: 'accepted' } }),
      { lane: 'inbox' },
    ],
    [
      'decisions 21: what is referred to is gone',
      later({ thread: { sameConversation: false, root: false } }),
      'invalid_reference',
    ],
  ])('%s', async (_name, second, expected) => {
    const result = await outcome(depsWith([fresh, second], [stale, accepted]))
    if (typeof expected === 'string') expect(result).toBe(expected)
    else expect(result).toMatchObject(expected)
  })

  test('a recipient that changes for ever is answered unavailable, and does not hold the sender for ever', async () => {
    const deps = depsWith([fresh], [stale])
    expect(await outcome(deps)).toBe('unavailable')
    expect(deps.lanes.length).toBeLessThanOrEqual(5)
  })
})
