/**
 * `@ai-sdk/mcp` subscribes to the events of `svc mcp --http`, and receives and verifies the deliveries. It is the only client of others
 * with events. The server runs in this process, because only there it may post to a receiver on loopback.
 */
import {
  createMCPClient,
  experimental_createMCPEventWebhook as createWebhook,
  type Experimental_MCPEventStore as EventStore,
  type Experimental_MCPEventSubscription as EventSubscription,
  type MCPClient,
  type Experimental_MCPEvent as McpEvent,
} from '@ai-sdk/mcp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Fields, temporaryFolder } from '../../../clients/mcp/test/scene.ts'
import { type Stage, startStage, TOKEN } from '../../../clients/mcp/test/stage.ts'
import { eventually } from '../../support/eventually.ts'
import { startReceiver, type WebhookReceiver } from '../../support/stand-ins/webhook-receiver.ts'

let stage: Stage
beforeAll(async () => {
  stage = await startStage()
})
afterAll(() => stage?.[Symbol.asyncDispose]())

function createStore(): EventStore {
  const saved = new Map<string, EventSubscription>()
  return {
    get: async (key) => saved.get(key),
    getById: async (id) => [...saved.values()].find((one) => one.id === id),
    set: async (one) => void saved.set(one.key, one),
    update: async (key, patch) => {
      const before = saved.get(key)
      if (before !== undefined) saved.set(key, { ...before, ...patch })
    },
    delete: async (key) => void saved.delete(key),
  }
}

/** What the handler of the client has answered, and whether it found the subscription active. */
interface Answered {
  readonly status: number
  readonly wasActive: boolean
}

/** Gives every request for a path of the receiver to the handler of the client. */
function serveClient(receiver: WebhookReceiver, store: EventStore) {
  const events: McpEvent[] = []
  const errors: unknown[] = []
  const answers: Answered[] = []
  let wasActive = false
  const handle = createWebhook({
    store: {
      ...store,
      async get(key) {
        const found = await store.get(key)
        wasActive = found?.status === 'active'
        return found
      },
    },
    onEvent: async ({ event }) => void events.push(event),
    onError: (error) => errors.push(error),
  })
  const serve = (path: string): void =>
    receiver.answer(path, async ({ method, headers, body }, response) => {
      const init = { method, headers: headers as Record<string, string>, body: new Uint8Array(body) }
      const answer = await handle(new Request(receiver.urlFor(path), init))
      answers.push({ status: answer.status, wasActive })
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
    })
  return { events, errors, answers, serve }
}

test('every message comes once and in order, over a restart of the server too', { timeout: 180_000 }, async () => {
  await using stack = new AsyncDisposableStack()
  const receiver = stack.use(await startReceiver())
  const options = { callbacks: { exemptTargets: new Set([receiver.host]) } }
  const first = stack.use(new AsyncDisposableStack())
  const alice = await stage.serve(first, { ...options, keyPath: stack.use(temporaryFolder()).path('key') })
  const store = createStore()
  const { events, errors, answers, serve } = serveClient(receiver, store)
  const connect = (url: string): Promise<MCPClient> =>
    createMCPClient({
      transport: {
        type: 'http',
        url,
        headers: { authorization: `Bearer ${TOKEN}` },
        async fetch(input, init) {
          // The client adds a query of its own to the URL of the callback.
          const { params } = JSON.parse(String(init?.body ?? '{}')) as Fields
          if (params?.delivery?.url !== undefined) serve(params.delivery.url.slice(receiver.urlFor('').length))
          return fetch(input, init)
        },
      },
      experimental_events: { store },
    })
  const sent: string[] = []
  const send = async (count: number): Promise<void> => {
    for (let left = count; left > 0; left -= 1) {
      // A stranger may send only one request.
      const { client } = await stage.agent()
      sent.push((await client.send({ to: alice.name, body: 'hello' })).msg_id)
    }
  }
  const allArrived = (): Promise<unknown> => eventually(() => events.length >= sent.length, { what: 'the events' })

  const client = await connect(alice.face.url)
  expect((await client.experimental_events.list()).events).toMatchObject([{ name: 'message.received' }])
  const { id } = await client.experimental_events.subscribe({
    name: 'message.received',
    arguments: { lanes: ['requests'] },
    delivery: { mode: 'webhook', url: receiver.urlFor('/ai-sdk?y=1') },
    cursor: null,
    ttlMs: 3_600_000,
  })
  await send(3)
  await allArrived()
  await client.close()
  await first.disposeAsync()
  await send(2)
  const again = await stage.serve(stack, { ...options, keyPath: alice.keyPath, register: alice.name })
  const next = await connect(again.face.url)
  stack.defer(() => next.close())
  await next.experimental_events.refresh({ id })
  await send(2)
  await allArrived()
  await next.experimental_events.unsubscribe({ id })

  expect(events.map(({ data }) => (data as Fields).message.message_id)).toEqual(sent)
  expect(new Set(events.map(({ eventId }) => eventId)).size).toBe(sent.length)
  expect(errors).toEqual([])
  const [challenge, ...deliveries] = answers
  expect(challenge?.status).toBe(200)
  // The client asks for a retry while it has not stored yet that the subscription is active, and never afterwards.
  for (const { status, wasActive } of deliveries) expect(status).toBe(wasActive ? 204 : 503)
})
