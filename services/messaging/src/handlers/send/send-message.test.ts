import { ServiceError } from '@svc/contracts/errors.ts'
import { describe, expect, test } from 'vitest'
import type { SendDeps } from '../../deps.ts'
import type { Appended } from '../../store/send/append.ts'
import type { Preflight } from '../../store/send/preflight.ts'
import { createStandings } from '../../store/send/standings.ts'
import { sendMessage } from './send-message.ts'

const ALICE = 'A'.repeat(44)
const BOB = 'B'.repeat(44)
const DIGEST = 'ab'.repeat(32)

const request: Parameters<typeof sendMessage>[1] = {
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
  reserved: null,
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

const noAnswer = (): never => {
  throw new Error('a DM has nothing to do with boards')
}
const NO_POSTS: SendDeps['posts'] = {
  preflight: noAnswer,
  append: noAnswer,
  boards: {
    judge: noAnswer,
    judgePost: noAnswer,
    mayRead: noAnswer,
    listReadable: noAnswer,
    listReaders: noAnswer,
  },
  charging: {
    owner: 'messaging',
    charge: noAnswer,
    reserve: noAnswer,
    finish: noAnswer,
    cancel: noAnswer,
    abandon: noAnswer,
  },
}

interface Recorded extends SendDeps {
  lanes: string[]
  asked: string[]
  /** Operations that were charged, and those that were given back unused. */
  taken: string[]
  given: string[]
}

/** Gives the answers in turn, and then repeats the last one. */
function depsWith(preflights: Preflight[], appends: Appended[]): Recorded {
  const lanes: string[] = []
  const taken: string[] = []
  const given: string[] = []
  const asked: string[] = []
  const next = <T>(list: T[]): T => (list.length > 1 ? list.shift() : list[0]) as T
  return {
    lanes,
    asked,
    posts: NO_POSTS,
    taken,
    given,
    standings: createStandings(),
    preflight: async ({ id }) => {
      asked.push(id)
      return next(preflights)
    },
    append: async ({ lane }) => {
      lanes.push(lane)
      return next(appends)
    },
    charging: {
      owner: 'messaging',
      reserve: async ({ operation }) => {
        taken.push(operation)
        return { operation, deadlineMs: Date.now() + 10_000, settled: false, shared: false }
      },
      finish: (reserved, _context, commit) => commit(reserved),
      charge: () => Promise.reject(new Error('not used')),
      cancel: async ({ operation }) => {
        given.push(operation)
      },
      abandon: async () => {},
    },
  }
}

async function outcome(deps: SendDeps, asked = request): Promise<unknown> {
  try {
    return await sendMessage(deps, asked, context)
  } catch (error) {
    if (error instanceof ServiceError) return error.code
    throw error
  }
}

const stale: Appended = { outcome: 'stale', lane: 'requests' }
const accepted: Appended = { outcome: 'accepted', lane: 'inbox' }

describe('spec 7.2: a repeated decision checks in the same order', () => {
  const later = (changes: Partial<Preflight>): Preflight => ({ ...fresh, standingVersion: 1, ...changes })
  const pending = { ...fresh.standing, pending: true }

  test.each([
    [
      'spec 7.4: another attempt at the same message succeeded: a duplicate, whatever the standing is now',
      later({ earlier: { isIdentical: true, lane: 'requests' }, standing: pending }),
      { duplicate: true, lane: 'requests' },
    ],
    [
      'spec 7.4: another envelope took the id: a conflict, whatever the standing is now',
      later({ earlier: { isIdentical: false, lane: 'inbox' }, standing: pending }),
      'id_conflict',
    ],
    ['spec 6.2: the recipient was revoked', later({ recipientRevoked: true }), 'recipient_unavailable'],
    [
      'spec 7.6: the sender was blocked',
      later({ standing: { ...fresh.standing, contact: 'blocked' } }),
      'admission_denied',
    ],
    ['spec 7.6: another message became the request', later({ standing: pending }), 'request_pending'],
    [
      'spec 7.6: the sender was accepted',
      later({ standing: { ...fresh.standing, contact: 'accepted' } }),
      { lane: 'inbox' },
    ],
    [
      'spec 6.9: the referenced message is gone',
      later({ thread: { sameConversation: false, root: false } }),
      'invalid_reference',
    ],
  ])('%s', async (_name, second, expected) => {
    const result = await outcome(depsWith([fresh, second], [stale, accepted]))
    if (typeof expected === 'string') expect(result).toBe(expected)
    else expect(result).toMatchObject(expected)
  })

  test('if the recipient keeps changing, the sender gets unavailable after a bounded number of attempts', async () => {
    const deps = depsWith([fresh], [stale])
    expect(await outcome(deps)).toBe('unavailable')
    expect(deps.lanes.length).toBeLessThanOrEqual(5)
  })
})

describe('the remembered standing of a pair saves a query and changes no answer', () => {
  const friend: Preflight = { ...fresh, standing: { ...fresh.standing, contact: 'accepted' }, standingVersion: 1 }
  const prepared = { ...request, reserved: { deadline_ms: Date.now() + 10_000, settled: false, shared: false } }
  const knowing = async (deps: ReturnType<typeof depsWith>) => {
    deps.standings.remember(ALICE, BOB, friend)
    return deps
  }

  test('ADR 6: a message that was reserved ahead is appended without a query', async () => {
    const deps = depsWith([friend], [accepted])
    expect(await outcome(deps)).toMatchObject({ lane: 'inbox' })
    expect(await outcome(deps, prepared)).toMatchObject({ lane: 'inbox' })
    expect(deps.asked).toHaveLength(1)
  })

  test('spec 7.4, 11.2: a message that was not reserved ahead is looked up first, so a repeat is answered even while budget is down', async () => {
    const earlier = { isIdentical: true, lane: 'inbox' as const }
    const deps = await knowing(depsWith([{ ...friend, earlier }], [accepted]))
    expect(await outcome(deps)).toMatchObject({ duplicate: true })
    expect(deps.taken).toEqual([])
  })

  test('ADR 6: a request is never sent on a remembered standing', async () => {
    const deps = depsWith([fresh], [{ outcome: 'accepted', lane: 'requests' }])
    await outcome(deps, prepared)
    await outcome(deps, prepared)
    expect(deps.asked).toHaveLength(2)
  })

  test.each([
    ['reply_to', { reply_to: 'another' }],
    ['thread_id', { thread_id: 'another' }],
  ])('spec 6.9: a message with a %s is looked up', async (_name, facts) => {
    const deps = await knowing(depsWith([friend], [accepted]))
    await outcome(deps, { ...prepared, facts: { ...request.facts, ...facts } })
    expect(deps.asked).toHaveLength(1)
  })

  test.each([
    ['spec 6.2: the recipient was revoked since', { ...friend, recipientRevoked: true }, 'recipient_unavailable'],
    [
      'spec 7.6: the sender was blocked since',
      { ...friend, standing: { ...fresh.standing, contact: 'blocked' as const } },
      'admission_denied',
    ],
  ])('%s', async (_name, since, expected) => {
    expect(await outcome(await knowing(depsWith([since], [stale])), prepared)).toBe(expected)
  })

  describe('a message whose operation another attempt has fenced is decided once more', () => {
    const fenced: Appended = { outcome: 'fenced', lane: 'inbox' }

    test('spec 7.2: if the second decision is a refusal, the sender gets this refusal', async () => {
      const blocked: Preflight = { ...friend, standing: { ...fresh.standing, contact: 'blocked' } }
      expect(await outcome(await knowing(depsWith([blocked], [fenced])), prepared)).toBe('admission_denied')
    })

    test.each([
      ['reserved ahead', prepared],
      ['not reserved ahead', request],
    ])('ADR 21: with a reservation of its own: %s', async (_name, asked) => {
      const deps = depsWith([friend], [fenced, accepted])
      expect(await outcome(deps, asked)).toMatchObject({ duplicate: false })
      expect(deps.taken).toHaveLength(asked === prepared ? 1 : 2)
    })

    test('spec 3.17: the number of repetitions is bounded', async () => {
      expect(await outcome(depsWith([friend], [fenced]), prepared)).toBe('unavailable')
    })
  })

  test('spec 7.4: if the append finds the id taken, a repeat is a duplicate, and another envelope is a conflict', async () => {
    const repeated = depsWith([friend], [{ outcome: 'duplicate', lane: 'inbox' }])
    expect(await outcome(await knowing(repeated), prepared)).toMatchObject({ duplicate: true })
    const earlier = { isIdentical: false, lane: 'inbox' as const }
    const taken = depsWith([{ ...friend, earlier }], [{ outcome: 'conflict', lane: 'inbox' }])
    expect(await outcome(await knowing(taken), prepared)).toBe('id_conflict')
  })

  test('spec 7.2, 7.4: retry and conflict are checked before the time window', async () => {
    const earlier = { isIdentical: true, lane: 'inbox' as const }
    const late = { ...prepared, facts: { ...request.facts, ts_ms: 0 } }
    const deps = await knowing(depsWith([{ ...friend, earlier }], [accepted]))
    expect(await outcome(deps, late)).toMatchObject({ duplicate: true })
    expect(deps.given).toHaveLength(1)
  })

  describe('a reservation made while the request was being admitted', () => {
    test('ADR 21: is the one that the message is committed with, and nothing is charged twice', async () => {
      for (const deps of [await knowing(depsWith([friend], [accepted])), depsWith([friend], [accepted])]) {
        expect(await outcome(deps, prepared)).toMatchObject({ duplicate: false })
        expect([deps.taken, deps.given]).toEqual([[], []])
      }
    })

    test.each([
      ['a refusal', { ...friend, recipientRevoked: true }, 'recipient_unavailable'],
      ['a conflict', { ...friend, earlier: { isIdentical: false, lane: 'inbox' as const } }, 'id_conflict'],
    ])('spec 11.3; ADR 21: is released with %s', async (_name, known, expected) => {
      const deps = depsWith([known], [accepted])
      expect(await outcome(deps, prepared)).toBe(expected)
      expect(deps.given).toHaveLength(1)
    })

    test('spec 7.4: is released for a repeat that was charged before', async () => {
      const earlier = { isIdentical: true, lane: 'inbox' as const }
      const deps = depsWith([{ ...friend, earlier }], [accepted])
      expect(await outcome(deps, prepared)).toMatchObject({ duplicate: true })
      expect(deps.given).toHaveLength(1)
    })
  })
})
