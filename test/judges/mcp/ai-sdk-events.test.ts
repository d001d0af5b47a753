/** `@ai-sdk/mcp`, a client that others wrote, subscribes to events, and receives and verifies the deliveries. */
import {
  createMCPClient,
  experimental_createMCPEventWebhook as createWebhook,
  type Experimental_MCPEventStore as EventStore,
  type Experimental_MCPEventSubscription as EventSubscription,
  type Experimental_MCPEvent as McpEvent,
} from '@ai-sdk/mcp'
import { eventually } from '@svc/test/support/eventually.ts'
import { startReceiver } from '@svc/test/support/stand-ins/webhook-receiver.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Fields } from './scene.ts'
import { type Stage, startStage, TOKEN } from './stage.ts'

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

test('it lists, subscribes, receives each message once, refreshes and unsubscribes', { timeout: 120_000 }, async () => {
  await using stack = new AsyncDisposableStack()
  const receiver = stack.use(await startReceiver())
  const alice = await stage.serve(stack, { callbacks: { exemptTargets: new Set([receiver.host]) } })
  const bob = await stage.agent()
  const store = createStore()
  const events: McpEvent[] = []
  const errors: unknown[] = []
  const handle = createWebhook({
    store,
    onEvent: async ({ event }) => void events.push(event),
    onError: (error) => errors.push(error),
  })
  // The client adds a query of its own to the URL.
  const statuses: number[] = []
  const serve = (path: string): void =>
    receiver.answer(path, async ({ method, headers, body }, response) => {
      const init = { method, headers: headers as Record<string, string>, body: new Uint8Array(body) }
      const answer = await handle(new Request(receiver.urlFor(path), init))
      statuses.push(answer.status)
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
    })
  const client = await createMCPClient({
    transport: {
      type: 'http',
      url: alice.face.url,
      headers: { authorization: `Bearer ${TOKEN}` },
      async fetch(input, init) {
        const { params } = JSON.parse(String(init?.body ?? '{}')) as Fields
        if (params?.delivery?.url !== undefined) serve(params.delivery.url.slice(receiver.urlFor('').length))
        return fetch(input, init)
      },
    },
    experimental_events: { store },
  })
  stack.defer(() => client.close())
  expect((await client.experimental_events.list()).events).toMatchObject([{ name: 'message.received' }])
  const delivery = { mode: 'webhook' as const, url: receiver.urlFor('/ai-sdk?y=1') }
  const { id } = (await client.experimental_events.subscribe({
    name: 'message.received',
    arguments: { lanes: ['requests'] },
    delivery,
    cursor: null,
    ttlMs: 60_000,
  })) as Fields
  const { msg_id } = await bob.client.send({ to: alice.name, body: 'hello' })
  await eventually(() => events.length > 0, { timeoutMs: 30_000, what: 'the event' })
  expect(events).toMatchObject([{ name: 'message.received', data: { message: { message_id: msg_id } } }])
  await client.experimental_events.refresh({ id })
  await client.experimental_events.unsubscribe({ id })
  expect(errors).toEqual([])
  expect(statuses.every((status) => status === 200 || status === 204 || status === 503)).toBe(true)
})
