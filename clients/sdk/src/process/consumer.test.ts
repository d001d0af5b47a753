import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Fault, type ModelMessage, ModelService } from '../../test/model-service.ts'
import { ApiError, StoreError, VerificationError } from '../errors.ts'
import { ErrorAnswer, type Received } from '../messages/answer.ts'
import { Consumer, type DeadLetter, type ProcessOptions } from './consumer.ts'

type Handle = ProcessOptions['handle']

const echo: Handle = ({ body }) => ({ echo: body })

/** Runs until every message is handled and its answer sent, or until the process is killed. @returns whether it was killed. */
async function run(
  service: ModelService,
  options: Partial<ProcessOptions> = {},
  { effects, isAfter }: { effects?: number; isAfter?: boolean } = {},
): Promise<boolean> {
  const stop = new AbortController()
  const { deps, store, killed } = service.live(effects, isAfter)
  let isKilled = false
  const consumed = Consumer.run(
    deps,
    { handle: echo, lanes: ['inbox', 'requests'], ...options, signal: stop.signal },
    store,
  )
  const isDone = async (): Promise<boolean> => {
    const place = JSON.parse((await service.store.get('process/place')) ?? '{}') as { cursor?: number }
    return place.cursor === service.events.length && (await service.store.keys('process/messages/')).length === 0
  }
  const done = (async () => {
    while (!isKilled && !(await isDone())) await new Promise((resolve) => setImmediate(resolve))
    stop.abort()
    if (!isKilled) await consumed
  })()
  await Promise.race([
    done,
    consumed,
    killed.then(() => {
      isKilled = true
    }),
  ])
  return isKilled
}

const answersOf = ({ answers }: ModelService): unknown[] => answers.map(({ reply_to }) => reply_to)

describe('property: even if the process is killed at any moment, whatever fails', () => {
  const behaviours = ['answers', 'is silent', 'fails once', 'is poisoned'] as const
  const messages = fc.array(
    fc.record({
      sender: fc.constantFrom('alice', 'bob', 'carol'),
      lane: fc.constantFrom('inbox' as const, 'requests' as const),
      authority: fc.constantFrom('x' as const, 'X' as const),
      behaviour: fc.constantFrom(...behaviours),
    }),
    { minLength: 1, maxLength: 8 },
  )
  const kills = fc.array(fc.record({ effects: fc.integer({ min: 1, max: 40 }), isAfter: fc.boolean() }), {
    maxLength: 8,
  })
  const faults = fc.array(fc.constantFrom<Fault>('none', 'none', 'down', 'lost', 'limit', 'pending', 'old'), {
    maxLength: 30,
  })

  test('nothing is lost, no answer is sent twice, answers keep the order of their sender, poisoned messages are kept', async () => {
    await fc.assert(
      fc.asyncProperty(
        messages,
        kills,
        faults,
        fc.integer({ min: 1, max: 4 }),
        async (sent, kills, faults, parallel) => {
          const service = new ModelService(sent)
          service.faults.push(...faults)
          const handled = new Map<number, number>()
          const handle: Handle = async ({ body }) => {
            const at = Number(body)
            handled.set(at, (handled.get(at) ?? 0) + 1)
            await new Promise((resolve) => setImmediate(resolve))
            const { behaviour } = sent[at - 1] ?? expect.unreachable()
            if (behaviour === 'is poisoned' || (behaviour === 'fails once' && handled.get(at) === 1))
              throw new Error('boom')
            return behaviour === 'is silent' ? undefined : { echo: body, times: handled.get(at) }
          }
          // More attempts than kills, so that only poisoned messages are given up.
          const options = { handle, parallel, attempts: kills.length + 3, accept: true }
          for (const kill of kills) await run(service, options, kill)
          expect(await run(service, options)).toBe(false)

          const numbered = sent.map((message, at) => ({ ...message, id: `message-${at + 1}`, at: at + 1 }))
          const answered = numbered.filter(({ behaviour }) => behaviour === 'answers' || behaviour === 'fails once')
          const poisoned = numbered.filter(({ behaviour }) => behaviour === 'is poisoned')
          expect(answersOf(service).toSorted()).toEqual(answered.map(({ id }) => id).toSorted())
          for (const name of ['alice', 'bob', 'carol']) {
            const mine = answered.filter(({ sender }) => sender === name).map(({ id }) => id)
            expect(answersOf(service).filter((id) => mine.includes(String(id)))).toEqual(mine)
          }
          expect([...handled.keys()].toSorted()).toEqual(numbered.map(({ at }) => at).toSorted())
          expect([...service.acked].toSorted()).toEqual(
            numbered
              .filter((one) => !poisoned.includes(one))
              .map(({ id }) => id)
              .toSorted(),
          )
          expect((await service.store.keys('dead-letters/')).toSorted()).toEqual(
            poisoned.map(({ id, at }) => `dead-letters/${at}-${id}.json`).toSorted(),
          )
          // The senders of answered requests, and of no other message, are accepted.
          const accepted = answered.filter(({ lane }) => lane === 'requests').map(({ sender }) => `id of ${sender}`)
          expect(service.accepted).toEqual(new Set(accepted))
        },
      ),
      { numRuns: process.env.SVC_FAULTS === 'long' ? 5_000 : 300 },
    )
  }, 600_000)
})

test('an answer is sent once even if the store is lost between two processes, because its id is the same', async () => {
  const service = new ModelService([{ sender: 'alice' }])
  // Killed before the acknowledgement.
  for (let effects = 1; service.answers.length === 0; effects += 1) await run(service, {}, { effects, isAfter: true })
  for (const key of await service.store.keys('')) await service.store.delete(key)
  expect(await run(service)).toBe(false)
  expect([answersOf(service), [...service.acked]]).toEqual([['message-1'], ['message-1']])
})

test('an attempt that ends because the consumer stops is not counted, and one during which the process is killed is', async () => {
  const service = new ModelService([{ sender: 'alice' }])
  const stop = new AbortController()
  const attempts: number[] = []
  const { deps, store } = service.live()
  const handle: Handle = (_, { attempt, signal }) => {
    attempts.push(attempt)
    stop.abort()
    signal.throwIfAborted()
  }
  await Consumer.run(deps, { handle, signal: stop.signal }, store)
  const letters: DeadLetter[] = []
  for (let n = 0; n < 3; n += 1) {
    const life = service.live()
    const noting: Handle = (_, { attempt }) => {
      attempts.push(attempt)
      life.kill()
      return new Promise(() => undefined)
    }
    void Consumer.run(life.deps, { handle: noting, attempts: 3 }, life.store)
    await life.killed
  }
  await run(service, { handle: echo, attempts: 3, onDeadLetter: (letter) => void letters.push(letter) })
  expect(attempts).toEqual([1, 1, 2, 3])
  expect(letters).toMatchObject([{ reason: 'the process was killed during the last attempt', attempts: 3, cursor: 1 }])
})

test('what the types and lanes do not name is left alone, and what another program acknowledged is finished', async () => {
  const service = new ModelService([
    { sender: 'alice', lane: 'requests' },
    { sender: 'alice', type: 'response' },
    { sender: 'alice', type: 'error' },
    { sender: 'alice', type: 'event' },
    { sender: 'alice' },
    { sender: 'bob' },
  ])
  service.acked.add('message-6')
  await run(service, { lanes: ['inbox'] })
  expect(answersOf(service)).toEqual(['message-4', 'message-5'])
  expect(service.acked).toEqual(new Set(['message-4', 'message-5', 'message-6']))
})

test('a request that is accepted comes again in the inbox, and is handled once', async () => {
  const service = new ModelService([{ sender: 'alice', lane: 'requests' }])
  const { message } = service.events[0] ?? expect.unreachable()
  service.events.push({ cursor: 2, kind: 'inbox', message: { ...message, lane: 'inbox' } })
  let calls = 0
  await run(service, { handle: () => (calls += 1), accept: true })
  expect([calls, answersOf(service)]).toEqual([1, ['message-1']])
})

test('answers to one recipient wait for a limit, say so, and do not hold the others or the cursor', async () => {
  const service = new ModelService([{ sender: 'alice' }, { sender: 'bob' }, { sender: 'alice' }])
  service.sleepMs = 30
  service.faults.push('limit', 'none', 'none', 'pending', 'down')
  const waits: unknown[] = []
  await run(service, {
    parallel: 1,
    onWait: ({ id, failure, delayMs }) => waits.push([id, (failure as ApiError).code ?? 'down', delayMs]),
  })
  expect(answersOf(service)).toEqual(['message-2', 'message-1', 'message-3'])
  expect(waits).toEqual([
    ['message-1', 'budget_exhausted', 600_000],
    ['message-1', 'request_pending', 1_000],
    ['message-1', 'down', 2_000],
  ])
})

test('one who never accepts the agent cannot stop it for the others, while a crowd that waits loses no answer', async () => {
  const crowd = Array.from({ length: 300 }, (_, at) => ({ sender: `stranger-${at}` }))
  const flood = Array.from({ length: 1_200 }, () => ({ sender: 'mallory' }))
  const service = new ModelService([...crowd, ...flood, { sender: 'bob' }])
  service.sleepMs = 10
  service.unreachable = ({ to }) => to !== 'bob@x'
  const stop = new AbortController()
  const letters: DeadLetter[] = []
  const { deps, store } = service.live()
  const onDeadLetter = (letter: DeadLetter): void => void letters.push(letter)
  const onFinished = (): void => stop.abort()
  await Consumer.run(deps, { handle: echo, onDeadLetter, onFinished, onWait: () => {}, signal: stop.signal }, store)
  expect(answersOf(service)).toEqual(['message-1501'])
  expect(letters.length).toBeGreaterThan(900)
  for (const { reason, answer } of letters) {
    expect(reason).toContain('too many answers wait')
    expect(answer?.draft.to).toBe('mallory@x')
  }
})

test('a message that kills the process takes no other one with it', async () => {
  const service = new ModelService(['poison', 'a', 'b', 'c', 'd'].map((sender) => ({ sender })))
  const letters: string[] = []
  const onDeadLetter = ({ id }: DeadLetter): void => void letters.push(id)
  for (let lives = 0; lives < 6; lives += 1) {
    const life = service.live()
    const stop = new AbortController()
    const handle: Handle = async ({ sender, body }) => {
      if (sender?.name === 'poison') life.kill()
      await new Promise((resolve) => setTimeout(resolve, 5))
      return body
    }
    const onFinished = (): void => {
      if (service.acked.size === 4) stop.abort()
    }
    const ended = Consumer.run(life.deps, { handle, onDeadLetter, onFinished, signal: stop.signal }, life.store)
    await Promise.race([ended, life.killed])
  }
  expect(letters).toEqual(['message-1'])
  expect(answersOf(service).toSorted()).toEqual(['message-2', 'message-3', 'message-4', 'message-5'])
})

test('a sender whose messages fail does not stop the others, and a request that somebody leaves pending counts as a failure', async () => {
  const service = new ModelService([...Array.from({ length: 200 }, () => ({ sender: 'mallory' })), { sender: 'bob' }])
  service.sleepMs = 20
  const stop = new AbortController()
  const { deps, store } = service.live()
  const handle: Handle = ({ sender, body }) => {
    if (sender?.name === 'mallory') throw new ApiError({ status: 409, code: 'request_pending', message: 'pending' })
    return body
  }
  const letters: string[] = []
  const onDeadLetter = ({ id }: DeadLetter): void => void letters.push(id)
  await Consumer.run(deps, { handle, onDeadLetter, onFinished: () => stop.abort(), signal: stop.signal }, store)
  expect(answersOf(service)).toEqual(['message-201'])
  expect(letters.length).toBeLessThan(10)
  await run(service, { handle, onDeadLetter })
  expect(letters).toHaveLength(200)
})

test('senders who cannot be looked up do not stop the others', async () => {
  const service = new ModelService([...['a', 'b', 'c', 'd', 'e'].map((sender) => ({ sender })), { sender: 'bob' }])
  service.sleepMs = 10
  const stop = new AbortController()
  const { deps, store } = service.live()
  const openMessage: typeof deps.openMessage = async (message, options) => {
    if (message.envelope.from !== 'bob@x') throw new ApiError({ status: 503, code: 'unavailable', message: 'down' })
    return deps.openMessage(message, options)
  }
  await Consumer.run(
    { ...deps, openMessage },
    { handle: echo, onWait: () => {}, onFinished: () => stop.abort(), signal: stop.signal },
    store,
  )
  expect(answersOf(service)).toEqual(['message-6'])
})

test('a post that the service calls a message for the inbox is not handled', async () => {
  const service = new ModelService([{ sender: 'alice' }, { sender: 'bob' }])
  Object.assign(service.events[0]?.message.envelope ?? {}, { to: `board:${'b'.repeat(20)}` })
  await run(service)
  expect(answersOf(service)).toEqual(['message-2'])
})

test('an answer that is too long is given up before its recipient is accepted', async () => {
  const service = new ModelService([{ sender: 'alice', lane: 'requests' }])
  const { deps, store } = service.live()
  const tooLong = new ApiError({ status: 413, code: 'message_too_large', message: 'too long' })
  const letters: DeadLetter[] = []
  const onDeadLetter = (letter: DeadLetter): void => void letters.push(letter)
  const options = { handle: echo, lanes: ['requests' as const], accept: true, count: 1, onDeadLetter }
  await Consumer.run({ ...deps, compose: () => Promise.reject(tooLong) }, options, store)
  expect(letters).toMatchObject([{ reason: 'the answer cannot be sent: too long (message_too_large)' }])
  expect(service.accepted).toEqual(new Set())
})

test.each<[string, Handle, string]>([
  ['throws', () => Promise.reject(new Error('boom')), 'boom'],
  ['returns what JSON cannot carry', () => ({ price: Number.NaN }), 'body.price is NaN'],
])(
  'a message whose handler %s is given up after the last attempt, and stays unacknowledged',
  async (_, handle, reason) => {
    const service = new ModelService([{ sender: 'alice' }, { sender: 'bob' }])
    const failures: unknown[] = []
    const letters: DeadLetter[] = []
    await run(service, {
      attempts: 3,
      handle: (message: Received, context) => (message.sender?.name === 'alice' ? handle(message, context) : 1),
      onFailure: ({ attempt }) => failures.push(attempt),
      onDeadLetter: async (letter) => void letters.push(letter),
    })
    expect(failures).toEqual([1, 2, 3])
    expect(letters).toMatchObject([
      { id: 'message-1', cursor: 1, attempts: 3, reason: expect.stringContaining(reason) },
    ])
    expect(JSON.parse((await service.store.get('dead-letters/1-message-1.json')) ?? '')).toMatchObject({
      event: { cursor: 1 },
      attempts: 3,
    })
    expect([...service.acked]).toEqual(['message-2'])
  },
)

test('a handler may throw the answer that says that the request failed', async () => {
  const service = new ModelService([{ sender: 'alice' }])
  await run(service, { handle: () => Promise.reject(new ErrorAnswer('no such order')) })
  expect(service.answers).toMatchObject([{ reply_to: 'message-1', type: 'error', body: 'no such order' }])
})

test('a message that is tried again later leaves its place to those of other senders', async () => {
  const service = new ModelService([{ sender: 'alice' }, { sender: 'bob' }, { sender: 'alice' }, { sender: 'carol' }])
  service.sleepMs = 30
  const calls: unknown[] = []
  const handle: Handle = ({ body }, { attempt }) => {
    calls.push(`${body}, attempt ${attempt}`)
    if (attempt === 1 && Number(body) <= 2) throw new Error('boom')
    return body
  }
  await run(service, { parallel: 2, handle })
  expect(calls.slice(0, 3)).toEqual(['1, attempt 1', '2, attempt 1', '4, attempt 1'])
})

test('an outage that the handler meets does not count as an attempt', async () => {
  const service = new ModelService([{ sender: 'alice' }])
  let calls = 0
  const attempts: number[] = []
  await run(service, {
    attempts: 1,
    handle: (_, { attempt }) => {
      attempts.push(attempt)
      calls += 1
      if (calls < 4) throw new ApiError({ status: 503, code: 'unavailable', message: 'down' })
      return 1
    },
  })
  expect([attempts, answersOf(service)]).toEqual([[1, 1, 1, 1], ['message-1']])
})

test('a message that does not verify is never handled, one that open ignores is finished, and a malformed id is no key', async () => {
  const service = new ModelService([
    { sender: 'mallory' },
    { sender: 'nobody' },
    { sender: 'alice' },
    { sender: 'alice' },
  ])
  Object.assign(service.events[3]?.message.envelope ?? {}, { id: '../../etc' })
  const letters: DeadLetter[] = []
  const handled: unknown[] = []
  await run(service, {
    open: async (message) => {
      if (message.envelope.from === 'mallory@x') throw new VerificationError('invalid_signature', 'not hers')
      return message.envelope.from === 'nobody@x' ? undefined : service.live().deps.openMessage(message, {})
    },
    handle: ({ id }) => void handled.push(id),
    onDeadLetter: (letter) => void letters.push(letter),
  })
  expect(handled).toEqual(['message-3'])
  expect(letters.map(({ reason }) => reason).toSorted()).toEqual(['its id is malformed', 'not verified: not hers'])
  expect((await service.store.keys('dead-letters/')).toSorted()).toEqual([
    'dead-letters/1-message-1.json',
    'dead-letters/4.json',
  ])
  expect([...service.acked]).toEqual(['message-3'])
})

test('an answer that the service refuses for ever is kept with its reason', async () => {
  const service = new ModelService([{ sender: 'alice' }])
  const letters: DeadLetter[] = []
  const { deps, store } = service.live()
  const post = (): Promise<never> =>
    Promise.reject(new ApiError({ status: 404, code: 'recipient_unavailable', message: 'gone' }))
  await Consumer.run(
    { ...deps, post },
    { handle: echo, count: 1, onDeadLetter: (letter) => void letters.push(letter) },
    store,
  )
  expect(letters).toMatchObject([
    { reason: 'the answer cannot be sent: gone (recipient_unavailable)', answer: { draft: { body: { echo: 1 } } } },
  ])
  expect([...service.acked]).toEqual([])
})

test('an ErrorAnswer is sent as an envelope of the type error', async () => {
  const service = new ModelService([{ sender: 'alice' }])
  const { deps, store } = service.live()
  const drafts: unknown[] = []
  const compose = (draft: Parameters<typeof deps.compose>[0]): ReturnType<typeof deps.compose> => {
    drafts.push(draft)
    return deps.compose(draft, {})
  }
  await Consumer.run({ ...deps, compose }, { handle: () => new ErrorAnswer('no such task'), count: 1 }, store)
  expect(drafts).toMatchObject([{ type: 'error', body: 'no such task', replyTo: 'message-1', threadId: 'message-1' }])
})

test.each([1, 2, 4])(
  'at most %i handlers run at a time, and messages of one sender one after the other',
  async (parallel) => {
    const sent: ModelMessage[] = Array.from({ length: 24 }, (_, at) => ({ sender: `agent-${at % 3}` }))
    const service = new ModelService(sent)
    const running = new Set<string>()
    const order = new Map<string, number[]>()
    let most = 0
    await run(service, {
      parallel,
      handle: async ({ sender, body }) => {
        const name = sender?.name ?? ''
        expect(running).not.toContain(name)
        running.add(name)
        most = Math.max(most, running.size)
        order.set(name, [...(order.get(name) ?? []), Number(body)])
        await new Promise((resolve) => setTimeout(resolve, 2))
        running.delete(name)
      },
    })
    expect(most).toBe(Math.min(parallel, 3))
    for (const numbers of order.values()) expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
  },
)

test('in any order, messages of one sender are handled at the same time', async () => {
  const service = new ModelService([{ sender: 'alice' }, { sender: 'alice' }, { sender: 'alice' }])
  const started: unknown[] = []
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  await run(service, {
    parallel: 2,
    anyOrder: true,
    onStart: (cursor) => started.push(cursor),
    handle: async ({ body }, { event }) => {
      started.push([body, event.cursor])
      if (body === 1) await released
      if (body === 3) release()
    },
  })
  expect(started).toEqual([0, [1, 1], [2, 2], [3, 3]])
})

test('it ends after `count` messages, and a new store begins where `after` says', async () => {
  const service = new ModelService([{ sender: 'alice' }, { sender: 'bob' }, { sender: 'carol' }])
  const { deps, store } = service.live()
  await Consumer.run(deps, { handle: echo, count: 1, after: 1, parallel: 1 }, store)
  expect(answersOf(service)).toEqual(['message-2'])
  await Consumer.run(deps, { handle: echo, count: 1, after: 'end' }, store)
  expect(answersOf(service)).toEqual(['message-2', 'message-3'])
})

test('a failure of the store, or a key that is revoked, ends it', async () => {
  const service = new ModelService([{ sender: 'alice' }])
  const { deps, store } = service.live()
  const full = { ...store, set: () => Promise.reject(new StoreError('the disk is full')) }
  await expect(Consumer.run(deps, { handle: echo }, full)).rejects.toThrow('the disk is full')
  const refused = new ApiError({ status: 403, code: 'signer_revoked', message: 'revoked' })
  await expect(Consumer.run({ ...deps, post: () => Promise.reject(refused) }, { handle: echo }, store)).rejects.toBe(
    refused,
  )
})

test.each([
  ['process/place', '{"agent_id":"other","authority":"x","cursor":1}', 'belongs to other at x'],
  ['process/place', '{"agent_id":"me"', 'is damaged'],
  ['process/messages/message-1', '[]', 'is damaged'],
])('a store with %s = %s is refused', async (key, text, message) => {
  const service = new ModelService([])
  await service.store.set(key, text)
  const { deps, store } = service.live()
  await expect(Consumer.run(deps, { handle: echo }, store)).rejects.toThrow(message)
})
