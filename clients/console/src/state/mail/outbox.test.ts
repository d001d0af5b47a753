import { signal } from '@preact/signals'
import type { Envelope, Message } from '@svc/contracts/resources.ts'
import { ApiError, NetworkError } from '@svc/sdk/errors.ts'
import { generateKey } from '@svc/sdk/keys.ts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { strings } from '../../strings.ts'
import type { PendingEnvelope } from '../../vault/agent-store.ts'
import { Contacts } from '../agent/contacts.ts'
import { AUTHORITY, createFakeContext, createFakeDirectory } from '../agent/fake-context.ts'
import { People } from '../agent/people.ts'
import { explain } from '../failures.ts'
import type { HealthState } from '../health.ts'
import { Outbox, type Outgoing } from './outbox.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse('2026-11-20T12:00:00Z') })
  vi.stubGlobal('addEventListener', () => {})
  vi.stubGlobal('removeEventListener', () => {})
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

const [alice, bob] = [generateKey(), generateKey()]
const HI = { to: 'bob', body: 'hi', seal: false, acceptReplies: false }
const ACCEPTED = {
  msg_id: 'm',
  status: 'accepted',
  lane: 'inbox',
  duplicate: false,
  sender_authenticated: true,
} as const
const overloaded = new ApiError({ status: 503, code: 'overloaded', message: 'overloaded' })
const refused = new ApiError({ status: 403, code: 'admission_denied', message: 'no' })
const tooOld = new ApiError({ status: 400, code: 'envelope_timestamp_out_of_range', message: 'old' })
const broke = new ApiError({ status: 429, code: 'budget_exhausted', message: 'no units are left' })
const unsigned = new ApiError({ status: 401, code: 'signer_revoked', message: 'revoked' })

function createRecords<Value>(kept = new Map<string, Value>()) {
  return {
    kept,
    get: async (id: string) => structuredClone(kept.get(id)),
    put: async (id: string, value: Value) => void kept.set(id, structuredClone(value)),
    delete: async (id: string) => void kept.delete(id),
    list: async () => [...kept].map(([id, value]) => ({ id, value: structuredClone(value) })),
  }
}

type Answer = 'accept' | 'hang' | Error

/** A browser whose service answers each post as the script says. The last answer is repeated. */
function sceneOf(script: readonly Answer[], { pending = createRecords<PendingEnvelope>() } = {}) {
  const context = createFakeContext({ name: 'alice', key: alice }, createFakeDirectory({ bob }))
  const posted: Envelope[] = []
  const accepted: Message[] = []
  const answers = [...script]
  const health = { state: signal<HealthState>('ok') }
  Object.assign(context.client, {
    acceptReplies: async () => 'already',
    post: (envelope: Envelope, { signal }: { signal: AbortSignal }) => {
      posted.push(envelope)
      const answer = answers.length > 1 ? answers.shift() : answers[0]
      if (answer === 'accept') return Promise.resolve(ACCEPTED)
      if (answer !== 'hang') return Promise.reject(answer)
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
  })
  Object.assign(context.store, { pending, sent: createRecords() })
  const outbox = new Outbox(context, new Contacts(context, new People(context)), {
    health,
    onAccepted: (message) => void accepted.push(message),
  })
  const answer = (next: Answer): void => {
    answers.splice(0, answers.length, next)
  }
  return {
    outbox,
    context,
    pending,
    posted,
    accepted,
    health,
    answer,
    waiting: () => [...outbox.pending.value.values()],
  }
}

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)
/** What a promise has come to, if it has. */
async function outcomeOf<T>(promise: Promise<T>): Promise<T | 'open' | { error: unknown }> {
  const settled = promise.catch((error: unknown) => ({ error }))
  return Promise.race([settled, pass(0).then(() => 'open' as const)])
}

describe('what becomes of a message', () => {
  test.each<[string, Answer[], { posts: number; waits: boolean; refusal?: Error }]>([
    ['accepted at once', ['accept'], { posts: 1, waits: false }],
    ['refused', [refused], { posts: 1, waits: false, refusal: refused }],
    ['refused because no unit is left', [broke], { posts: 1, waits: false, refusal: broke }],
    ['accepted by the second try', [overloaded, 'accept'], { posts: 2, waits: false }],
    ['too old, and accepted with a new time', [tooOld, 'accept'], { posts: 2, waits: false }],
    ['no answer', ['hang'], { posts: 1, waits: true }],
    ['no network', [new NetworkError('lost')], { posts: 2, waits: true }],
  ])('%s: within 4 s', async (_, script, { posts, waits, refusal }) => {
    const { outbox, posted, pending, waiting, accepted } = sceneOf(script)
    const sending = outbox.send(HI)
    sending.catch(() => {})
    await pass(4_000)
    const id = posted[0]?.id
    const outcome = await outcomeOf(sending)
    expect(outcome).toEqual(refusal === undefined ? { id, result: waits ? undefined : ACCEPTED } : { error: refusal })
    expect([posted.length, waiting().length, pending.kept.size]).toEqual([posts, Number(waits), Number(waits)])
    expect(waiting().map(({ isSending }) => isSending)).toEqual(waits ? [false] : [])
    expect(accepted.length).toBe(Number(!waits && refusal === undefined))
  })

  test('it waits since it was written, is sent by itself, and is the same envelope each time', async () => {
    const { outbox, posted, waiting, accepted, answer, pending } = sceneOf([overloaded])
    const sinceMs = Date.now()
    void outbox.send(HI)
    await pass(60_000)
    expect(waiting()).toMatchObject([{ sinceMs, isRefused: false, problem: explain(overloaded) }])
    answer('accept')
    await pass(30_000)
    expect(new Set(posted.map((envelope) => JSON.stringify(envelope))).size).toBe(1)
    expect([waiting(), pending.kept.size]).toEqual([[], 0])
    const now = Math.floor(Date.now() / 1000)
    expect(accepted).toMatchObject([{ envelope: posted[0], lane: 'inbox', acked: false, upvotes: 0 }])
    expect(accepted[0]?.created_at).toBeLessThanOrEqual(now)
    expect((accepted[0]?.expires_at ?? 0) - (accepted[0]?.created_at ?? 0)).toBe(30 * 24 * 3_600)
    expect(outbox.sent.value.get(posted[0]?.id ?? '')).toMatchObject({
      body: 'hi',
      to: `bob@${AUTHORITY}`,
      sentAtMs: sinceMs,
    })
  })

  test('it keeps its type and what it answers, also with a new time, under its old id', async () => {
    const { outbox, posted } = sceneOf([overloaded, tooOld, 'accept'])
    const links = { type: 'response', replyTo: 'aaaaaaaa', threadId: 'bbbbbbbb' } as const
    void outbox.send({ ...HI, ...links } satisfies Outgoing)
    await pass(10_000)
    const expected = { type: 'response', reply_to: 'aaaaaaaa', thread_id: 'bbbbbbbb', body: 'hi', id: posted[0]?.id }
    expect(posted).toMatchObject([expected, expected, expected])
    expect([posted[1]?.ts, posted[2]?.ts]).toEqual([posted[0]?.ts, '2026-11-20T12:00:02.000Z'])
  })
})

describe('while the service is known to fail', () => {
  test('a message waits at once, no try reaches the service, and it goes when the service is back', async () => {
    const { outbox, posted, health, waiting } = sceneOf(['accept'])
    health.state.value = 'failing'
    const { id, result } = await outbox.send(HI)
    await pass(600_000)
    expect([result, posted.length, waiting()[0]?.isSending]).toEqual([undefined, 0, false])
    health.state.value = 'ok'
    await pass(0)
    expect([posted.map((envelope) => envelope.id), waiting()]).toEqual([[id], []])
  })

  test('a try that hangs is given up at once, and repeated when the service is back', async () => {
    const { outbox, posted, health, waiting, answer } = sceneOf(['hang'])
    const sending = outbox.send(HI)
    await pass(1_000)
    health.state.value = 'failing'
    expect(await outcomeOf(sending)).toMatchObject({ result: undefined })
    expect(waiting()).toMatchObject([{ isSending: false, isTried: true }])
    answer('accept')
    health.state.value = 'ok'
    await pass(0)
    expect([posted.length, waiting()]).toEqual([2, []])
  })

  test('messages go in the order in which they were written, one at a time', async () => {
    const { outbox, posted, health } = sceneOf(['accept'])
    health.state.value = 'failing'
    const bodies = ['one', 'two', 'three']
    for (const body of bodies) {
      await outbox.send({ ...HI, body })
      await pass(1)
    }
    health.state.value = 'ok'
    await pass(0)
    expect(posted).toMatchObject(bodies.map((body) => ({ body })))
  })

  test('Try again tries at once', async () => {
    const { outbox, posted, health } = sceneOf(['accept'])
    health.state.value = 'failing'
    const { id } = await outbox.send(HI)
    expect(await outbox.retry(id)).toEqual(ACCEPTED)
    expect(posted.length).toBe(1)
  })

  test('what needs the service to be composed fails within 5 s, and says that nothing was sent', async () => {
    const { outbox, context, posted, pending } = sceneOf(['accept'])
    Object.assign(context.client, {
      compose: (_: unknown, { signal }: { signal: AbortSignal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    })
    const sending = outbox.send(HI)
    sending.catch(() => {})
    await pass(4_999)
    const { error } = (await outcomeOf(sending)) as { error: unknown }
    expect(explain(error).toLowerCase()).toContain(strings.sent.notComposed.toLowerCase())
    expect([posted.length, pending.kept.size]).toEqual([0, 0])
  })
})

describe('a message that waits and is refused later', () => {
  test('stays, says why, and is sent only if somebody asks', async () => {
    const { outbox, posted, waiting, answer } = sceneOf([overloaded])
    const sending = outbox.send(HI)
    await pass(5_000)
    const { id } = await sending
    answer(refused)
    await pass(60_000)
    expect(waiting()).toMatchObject([{ isRefused: true, isSending: false, problem: explain(refused) }])
    const tries = posted.length
    await pass(600_000)
    expect(posted.length).toBe(tries)
    answer('accept')
    expect(await outbox.retry(id)).toEqual(ACCEPTED)
    expect(waiting()).toEqual([])
  })

  test('does not keep others from being sent', async () => {
    const { outbox, posted, health } = sceneOf([refused, 'accept'])
    health.state.value = 'failing'
    await outbox.send({ ...HI, body: 'one' })
    await pass(1)
    await outbox.send({ ...HI, body: 'two' })
    health.state.value = 'ok'
    await pass(0)
    expect(posted).toMatchObject([{ body: 'one' }, { body: 'two' }])
  })
})

describe('Cancel', () => {
  test.each<[string, Answer, Partial<Outgoing>, object]>([
    ['a text', 'hang', {}, { text: 'hi', isJson: false, isSealed: false, acceptReplies: false }],
    ['JSON', 'hang', { body: { a: [1] } }, { text: '{\n  "a": [\n    1\n  ]\n}', isJson: true }],
    [
      'a sealed answer',
      'hang',
      { seal: true, replyTo: 'aaaaaaaa', threadId: 'bbbbbbbb' },
      { text: 'hi', isSealed: true, replyTo: 'aaaaaaaa', threadId: 'bbbbbbbb' },
    ],
  ])('gives back %s', async (_, answer, more, expected) => {
    const { outbox, waiting, pending } = sceneOf([answer])
    const sending = outbox.send({ ...HI, ...more })
    await vi.waitFor(() => expect(waiting().length).toBe(1))
    await pass(4_000)
    const cancelled = await outbox.cancel((await sending).id)
    expect(cancelled?.draft).toMatchObject({ to: `bob@${AUTHORITY}`, ...expected })
    expect([waiting(), pending.kept.size]).toEqual([[], 0])
  })

  test.each<[string, Answer | undefined, boolean]>([
    ['was never tried', undefined, false],
    ['got no answer', 'hang', true],
    ['was refused by an overloaded service', overloaded, true],
    ['was refused', refused, false],
    ['got no answer, and then its agent was revoked', unsigned, true],
  ])('of a message that %s tells whether it may have arrived: %s', async (_, answer, mayHaveArrived) => {
    const { outbox, health, answer: next } = sceneOf(['hang'])
    if (answer === undefined) health.state.value = 'failing'
    const sending = outbox.send(HI)
    await pass(5_000)
    const { id } = await sending
    if (answer !== undefined) next(answer)
    if (answer instanceof Error) void outbox.retry(id)
    await pass(5_000)
    expect(await outbox.cancel(id)).toMatchObject({ mayHaveArrived })
  })

  test('ends the tries', async () => {
    const { outbox, posted, waiting } = sceneOf(['hang'])
    const sending = outbox.send(HI)
    await pass(4_000)
    await outbox.cancel((await sending).id)
    await pass(120_000)
    expect([posted.length, waiting()]).toEqual([1, []])
  })

  test('in the composer, before a try: nothing was sent', async () => {
    const { outbox, context, posted, pending } = sceneOf(['accept'])
    Object.assign(context.client, { acceptReplies: () => new Promise(() => {}) })
    const control = new AbortController()
    const sending = outbox.send({ ...HI, acceptReplies: true }, { signal: control.signal })
    sending.catch(() => {})
    await pass(100)
    control.abort(new DOMException('cancelled', 'AbortError'))
    await expect(sending).rejects.toBe(control.signal.reason)
    expect([posted.length, pending.kept.size]).toEqual([0, 0])
  })

  test('in the composer, during a try: the recipient may have it', async () => {
    const { outbox, pending } = sceneOf(['hang'])
    const control = new AbortController()
    const sending = outbox.send(HI, { signal: control.signal })
    sending.catch(() => {})
    await pass(100)
    control.abort(new DOMException('cancelled', 'AbortError'))
    await expect(sending).rejects.toThrow(strings.sent.cancelledMaybe)
    expect(pending.kept.size).toBe(0)
  })
})

describe('after a reload', () => {
  /** What a page leaves behind whose message got no answer, or was refused after it had waited. */
  async function leave(last: Answer) {
    const before = sceneOf(['hang'])
    void before.outbox.send(HI)
    await pass(4_000)
    if (last !== 'hang') {
      before.answer(last)
      await before.outbox.retry(before.waiting()[0]?.envelope.id ?? '')
    }
    return before.pending
  }

  test('what waits goes on by itself', async () => {
    const pending = await leave('hang')
    const { outbox, posted, waiting } = sceneOf(['accept'], { pending })
    await outbox.load()
    await pass(0)
    expect([posted.length, waiting(), pending.kept.size]).toEqual([1, [], 0])
  })

  test('what was refused waits for a person', async () => {
    const pending = await leave(refused)
    const { outbox, posted, waiting } = sceneOf(['accept'], { pending })
    await outbox.load()
    await pass(60_000)
    expect(waiting()).toMatchObject([{ isRefused: true, problem: explain(refused) }])
    expect(posted).toEqual([])
  })

  test('an earlier try may have arrived, and this is still said', async () => {
    const pending = await leave('hang')
    const { outbox, health, waiting } = sceneOf(['hang'], { pending })
    health.state.value = 'failing'
    await outbox.load()
    expect(await outbox.cancel(waiting()[0]?.envelope.id ?? '')).toMatchObject({ mayHaveArrived: true })
  })

  test('what another tab has sent meanwhile is not sent again', async () => {
    const pending = await leave('hang')
    const { outbox, posted, waiting } = sceneOf([overloaded, 'accept'], { pending })
    await outbox.load()
    await pass(0)
    pending.kept.clear()
    await pass(60_000)
    expect([posted.length, waiting()]).toEqual([1, []])
  })

  test('what another tab has given a new time is sent as that tab sends it', async () => {
    const pending = await leave('hang')
    const { outbox, posted } = sceneOf([overloaded, 'accept'], { pending })
    await outbox.load()
    await pass(0)
    const [[id, kept] = []] = pending.kept
    if (id === undefined || kept === undefined) throw new Error('nothing is kept')
    await pending.put(id, { ...kept, envelope: { ...kept.envelope, ts: '2026-11-20T12:30:00.000Z' } })
    await pass(60_000)
    expect(posted.at(-1)?.ts).toBe('2026-11-20T12:30:00.000Z')
  })
})
