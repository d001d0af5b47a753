/**
 * Webhooks under load, while everything between sender and receiver fails. The test compares accepted ids with delivered
 * ids: delivery is at least once, and never to another agent's endpoint (spec 10.7).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent } from '../support/client/agent.ts'
import { eventually } from '../support/eventually.ts'
import { startReceiver, type WebhookReceiver } from '../support/stand-ins/webhook-receiver.ts'
import { type Harness, startHarness } from '../support/system/harness.ts'
import { ONE_OF_EACH } from '../support/system/system.ts'

const SECRET = '0123456789abcdef0123456789abcdef'
const ENDPOINTS = 3
const RECOVERY = { timeoutMs: 60_000 }
/** Without this pause the load would use all CPU while processes restart, and other tests would time out. */
const PAUSE_MS = process.env.SVC_FAULTS === 'long' ? 0 : 40

let h: Harness
let receiver: WebhookReceiver

beforeAll(async () => {
  receiver = await startReceiver()
  h = await startHarness({
    replicas: { ...ONE_OF_EACH, webhook: 2, messaging: 2 },
    env: {
      SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS: receiver.host,
      NODE_EXTRA_CA_CERTS: receiver.caFile,
      SVC_WEBHOOK_ATTEMPT_SECONDS: '2',
      SVC_WEBHOOK_LEASE_SECONDS: '3',
      SVC_DAILY_FREE_UNITS: '1000000',
      SVC_DAILY_HARD_LIMIT: '1000000',
    },
  })
})
afterAll(async () => {
  await h?.[Symbol.asyncDispose]()
  await receiver?.[Symbol.asyncDispose]()
})

/** A sender, and receivers with one webhook each. */
async function startScene(name: string): Promise<{ sender: Agent; readers: { agent: Agent; path: string }[] }> {
  const [sender, ...agents] = await h.agents(ENDPOINTS + 1)
  if (sender === undefined) throw new Error('at least one sender is needed')
  const readers = agents.map((agent, at) => ({ agent, path: `/${name}-${at}` }))
  for (const { agent, path } of readers) {
    expect((await agent.patch('/v2/me', { inbox_policy: 'open' })).status).toBe(200)
    expect((await agent.put('/v2/webhook', { url: receiver.urlFor(path), secret: SECRET })).status).toBe(200)
  }
  return { sender, readers }
}

function idsAt(path: string): Set<unknown> {
  return new Set(receiver.at(path).map(({ headers }) => headers['x-svc-message-id']))
}

/** Kills the process and starts it again. */
async function restart(name: string): Promise<void> {
  await h.system.kill(name)
  await h.system.start(name)
}

const FAULTS: readonly (readonly [string, () => Promise<void>])[] = [
  ['a webhook process is killed', () => restart('webhook-1')],
  ['every webhook process is killed', async () => void (await Promise.all(['webhook-1', 'webhook-2'].map(restart)))],
  ['a messaging process is killed', () => restart('messaging-1')],
  [
    'NATS is killed',
    async () => {
      await h.system.nats.kill()
      await h.system.nats.restart()
    },
  ],
  ['NATS loses all of its data', () => h.system.nats.restart({ wipe: true })],
]

describe('spec 10.7: delivery is at least once', () => {
  test.each(FAULTS)(
    '%s: every accepted message reaches its own endpoint, and no other',
    async (name, fail) => {
      const { sender, readers } = await startScene(name.replaceAll(' ', '-'))
      const accepted = readers.map(() => new Set<unknown>())
      let sending = true
      const load = readers.map(async ({ agent }, at) => {
        while (sending) {
          const envelope = sender.envelope(agent)
          // Retries until answered. A 503 does not tell whether the message was accepted, and sending the same envelope
          // again is safe.
          await eventually(
            async () => [200, 202].includes((await sender.post('/v2/messages', envelope)).status),
            RECOVERY,
          )
          accepted[at]?.add(envelope.id)
          await sleep(PAUSE_MS)
        }
      })
      await eventually(() => readers.every(({ path }) => idsAt(path).size >= 3), RECOVERY)
      await fail()
      const before = accepted.map((ids) => ids.size)
      await eventually(() => accepted.every((ids, at) => ids.size >= (before[at] ?? 0) + 5), RECOVERY)
      sending = false
      await Promise.all(load)
      for (const [at, { agent, path }] of readers.entries()) {
        await eventually(() => idsAt(path).size >= (accepted[at]?.size ?? 0), RECOVERY)
        expect(idsAt(path)).toEqual(accepted[at])
        await eventually(async () => (await agent.get('/v2/webhook')).body.pending === 0, RECOVERY)
        expect((await agent.get('/v2/webhook')).body).toMatchObject({ pending: 0, failed: 0 })
        expect(receiver.maxInFlight(path)).toBeLessThanOrEqual(2)
      }
    },
    180_000,
  )
})
