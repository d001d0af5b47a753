/** ADR 6, 7: reserving ahead changes no answer. domain/admission.test.ts tests every state. */
import { ServiceError } from '@svc/contracts/errors.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { laneFor, type Standing } from '../../src/domain/admission.ts'
import { type Harness, newId, startHarness } from '../support/harness.ts'

const POLICIES = ['requests', 'open', 'contacts', 'closed'] as const
const CONTACTS = ['none', 'accepted', 'blocked'] as const
const STATES: Standing[] = POLICIES.flatMap((policy) =>
  CONTACTS.flatMap((contact) => [false, true].map((pending) => ({ policy, contact, pending }))),
)

type Sending = Parameters<Harness['send']>[0]

let h: Harness
let stranger: ReturnType<Harness['startProcess']>
beforeAll(async () => {
  h = await startHarness()
  stranger = h.startProcess()
})
afterAll(() => h[Symbol.asyncDispose]())

/** The ways through messaging. The first process remembers the pair as it was before its state changed; the other does not. */
const WAYS: Record<string, (message: Sending) => Promise<unknown>> = {
  plain: (message) => stranger.send(message),
  'reserved ahead': (message) => stranger.send({ ...message, reservedAhead: true }),
  'reserved ahead, and the pair is remembered': (message) => h.send({ ...message, reservedAhead: true }),
}

describe.each(Object.entries(WAYS))('spec 7.2, 7.6: %s', (way, send) => {
  test.each(STATES)('$policy, $contact, pending $pending', async (state) => {
    const pair = await makePair(state)
    const expected = answerBy(() => ({ lane: laneFor(pair.from, pair.to, state), duplicate: false }))
    expect(await answer(send(pair))).toEqual(expected)
    expect(chargesOf(pair.from)).not.toContain('held')
    expect(chargesOf(pair.from).at(-1)).toBe(typeof expected === 'string' ? lastBefore(way) : 'settled')
  })

  test.each(POLICIES)('spec 7.6: a message to yourself, under the policy %s', async (policy) => {
    const self = newId()
    await h.send({ from: self, to: self })
    await h.setPolicy(self, policy, 1)
    expect(await answer(send({ from: self, to: self }))).toEqual({ lane: 'inbox', duplicate: false })
    expect(chargesOf(self)).toEqual(['settled', 'settled'])
  })

  test('spec 6.2: the recipient was revoked', async () => {
    const pair = await makePair({ policy: 'open', contact: 'none', pending: false })
    await h.revoke(pair.to, 3)
    expect(await answer(send(pair))).toBe('recipient_unavailable')
    expect(chargesOf(pair.from)).not.toContain('held')
  })

  test.each([
    ['a repeat', {}, { lane: 'inbox', duplicate: true }],
    ['another message with the same id', { body: 'other' }, 'id_conflict'],
    ['a repeat that refers to nothing', { replyTo: 'nothing' }, { lane: 'inbox', duplicate: true }],
  ])('spec 7.4: %s', async (_name, changes, expected) => {
    const pair = await makePair({ policy: 'open', contact: 'none', pending: false })
    const message = { ...pair, id: newId() }
    await h.send(message)
    expect(await answer(send({ ...message, ...changes }))).toEqual(expected)
    expect(chargesOf(pair.from)).not.toContain('held')
  })

  test.each([
    ['spec 6.7: it is too old', { agoSeconds: 301 }, 'envelope_timestamp_out_of_range'],
    ['spec 6.7: it has expired', { agoSeconds: 20, ttl: 10 }, 'expired'],
    ['spec 6.9: it refers to nothing', { replyTo: 'nothing' }, 'invalid_reference'],
    [
      'spec 7.2: the time comes before the policy',
      { agoSeconds: 301, to: 'closed' },
      'envelope_timestamp_out_of_range',
    ],
  ])('%s', async (_name, changes, expected) => {
    await h.setPolicy('closed', 'closed', 1)
    const pair = await makePair({ policy: 'open', contact: 'none', pending: false })
    expect(await answer(send({ ...pair, ...changes }))).toBe(expected)
    expect(chargesOf(pair.from)).not.toContain('held')
  })
})

/** Two agents in a state. The first process remembers that the sender's last message went straight to the inbox. */
async function makePair({ policy, contact, pending }: Standing): Promise<Pick<Sending, 'from' | 'to'>> {
  const [from, to] = [newId(), newId()]
  if (pending) await h.send({ from, to })
  await h.setPolicy(to, 'open', 1)
  await h.send({ from, to })
  await h.setPolicy(to, policy, 2)
  await h.setContact(to, from, contact)
  return { from, to }
}

async function answer(sent: Promise<unknown>): Promise<unknown> {
  try {
    const { lane, duplicate } = (await sent) as { lane: string; duplicate: boolean }
    return { lane, duplicate }
  } catch (error) {
    return codeOf(error)
  }
}

function answerBy(decide: () => unknown): unknown {
  try {
    return decide()
  } catch (error) {
    return codeOf(error)
  }
}

function codeOf(error: unknown): string {
  if (error instanceof ServiceError) return error.code
  throw error
}

function chargesOf(agent: string): string[] {
  return h.charged.filter(({ cost }) => cost.agentId === agent).map(({ outcome }) => outcome)
}

/** The sender's last charge: on the plain way, the settled one of an earlier message; else the one made ahead, which is released. */
function lastBefore(way: string): string {
  return way === 'plain' ? 'settled' : 'released'
}
