/**
 * Each accepted inbox message of an agent with a webhook has one job, whatever JetStream loses. The test runs messaging and
 * webhook with NATS between them. It sends messages all the time.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { Call, RequestOf } from '@svc/contracts/define.ts'
import { sendMessage, setContact, setMailbox } from '@svc/contracts/messaging.ts'
import { setWebhook } from '@svc/contracts/webhook.ts'
import type { NatsLogin } from '@svc/local/topology.ts'
import { type Bus, createBus } from '@svc/nats/bus.ts'
import { connectNats, drainNats, type Nats } from '@svc/nats/connect.ts'
import { agentIdOf } from '@svc/svc1/agent-id.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import postgres from 'postgres'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/engines/database.ts'
import { findTestRun, startTestNats } from '../support/engines/engines.ts'
import { startNatsCluster } from '../support/engines/nats/nats-cluster.ts'
import { eventually } from '../support/eventually.ts'
import { startBudgetPeer } from '../support/stand-ins/budget-peer.ts'
import { startTestProcess, type TestProcess } from '../support/system/processes.ts'

const READERS = 3
/** Nothing listens here, so jobs are never finished and can be counted. */
const NOBODY = '127.0.0.1:1'
const RECOVERY = { timeoutMs: 60_000 }
const logger = createLogger('test', 'silent')

interface SceneOptions {
  natsUrlFor: (user: NatsLogin) => string
  env: NodeJS.ProcessEnv
}

/** Starts only messaging and webhook. There are senders, and readers with one webhook each. */
async function startScene({ natsUrlFor, env }: SceneOptions) {
  await using stack = new AsyncDisposableStack()
  const run = await findTestRun()
  const database = stack.use(await createTestDatabase(['messaging', 'webhook']))
  const sql = stack.adopt(postgres(database.adminUrl, { max: 2 }), (one) => one.end())
  const connect = async (user: NatsLogin): Promise<Nats> =>
    stack.adopt(
      await connectNats({ url: natsUrlFor(user), name: `test-${user}`, logger, asOperator: user === 'admin' }),
      (nats) => drainNats(nats, 500),
    )
  stack.use(await startBudgetPeer(natsUrlFor('budget')))
  const bus = stack.use(createBus(await connect('gateway')))
  const processes = new Set<TestProcess>()
  stack.defer(async () => void (await Promise.all([...processes].map((one) => one.stop()))))

  const start = async (service: 'messaging' | 'webhook'): Promise<TestProcess> => {
    const child = startTestProcess({
      service,
      run,
      env: {
        PATH: process.env.PATH,
        SVC_NATS_URL: natsUrlFor(service),
        SVC_DATABASE_URL: database.urlFor(service),
        SVC_WEBHOOK_SECRET_KEY: 'k'.repeat(64),
        SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS: NOBODY,
        SVC_WEBHOOK_RECONCILE_SECONDS: '0.5',
        ...env,
      },
    })
    processes.add(child)
    await child.untilReady()
    return child
  }
  const stop = async (child: TestProcess): Promise<void> => {
    await child.stop()
    processes.delete(child)
  }
  await start('messaging')
  const webhook = await start('webhook')
  const readers = Array.from({ length: READERS }, () => agentIdOf(randomBytes(32)))
  for (const agent_id of readers) {
    await ask(bus, setMailbox, { agent_id, policy: 'requests', revoked: false, version: 1 })
    const hook = { url: `https://${NOBODY}/hook`, secret: 's'.repeat(32) }
    await ask(bus, setWebhook, { agent_id, webhook: hook, after: 0 })
  }
  const accepted = new Set<string>()
  const scene = {
    sql,
    admin: await connect('admin'),
    start: () => start('webhook'),
    stop: () => stop(webhook),
    /** Sends each reader messages that wait as requests. The reader then accepts the senders, which moves the messages to its inbox. */
    async sendAndPromote(count: number): Promise<void> {
      for (const reader of readers) {
        for (let sent = 0; sent < count; sent += 1) {
          const sender = agentIdOf(randomBytes(32))
          const id = await send(bus, sender, reader)
          await ask(bus, setContact, { agent_id: reader, other: sender, state: 'accepted' })
          accepted.add(id)
        }
      }
    },
    /** Sends to all readers at once until stopped. `atLeast` waits until each reader has received this many messages. */
    startLoad(bodyBytes = 10): { atLeast(count: number): Promise<void>; stop(): Promise<void> } {
      let sending = true
      const counts = readers.map(() => 0)
      const load = readers.map(async (reader, at) => {
        const sender = agentIdOf(randomBytes(32))
        await ask(bus, setContact, { agent_id: reader, other: sender, state: 'accepted' })
        while (sending) {
          accepted.add(await send(bus, sender, reader, 'x'.repeat(bodyBytes)))
          counts[at] = (counts[at] ?? 0) + 1
        }
      })
      return {
        async atLeast(count) {
          const from = [...counts]
          await eventually(() => counts.every((sent, at) => sent >= (from[at] ?? 0) + count), RECOVERY)
        },
        async stop() {
          sending = false
          await Promise.all(load)
        },
      }
    },
    /** Compares the jobs with the accepted messages. */
    async expectOneJobEach(): Promise<void> {
      const idsOfJobs = async (): Promise<string[]> =>
        (await sql<{ message_id: string }[]>`select j.message_id from webhook.jobs j`).map((job) => job.message_id)
      await eventually(async () => (await idsOfJobs()).length >= accepted.size, RECOVERY)
      expect((await idsOfJobs()).toSorted()).toEqual([...accepted].toSorted())
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
  const running = stack.move()
  return scene
}

/** Retries until the call is answered. Calls are idempotent, so it does not matter if an unanswered call took effect. */
async function ask<Q, R>(bus: Bus, call: Call<Q, R>, request: Q): Promise<R> {
  const context = () => ({ traceparent: newTraceparent(), deadlineMs: Date.now() + 3_000 })
  return eventually(async () => ({ reply: await bus.call(call, request, context()) }), RECOVERY).then(
    ({ reply }) => reply,
  )
}

/** Sends one message. @returns its id. */
async function send(bus: Bus, signer: string, recipient: string, body = 'hello'): Promise<string> {
  const id = randomBytes(12).toString('base64url')
  const envelope = JSON.stringify({ id, from: signer, to: recipient, body })
  const request: RequestOf<typeof sendMessage> = {
    signer,
    recipient: { kind: 'agent', id: recipient },
    facts: {
      id,
      digest: createHash('sha256').update(envelope).digest('hex'),
      ts_ms: Date.now(),
      ttl: 0,
      reply_to: null,
      thread_id: null,
      payload_bytes: body.length + 2,
    },
    envelope,
    reserved: null,
  }
  await ask(bus, sendMessage, request)
  return id
}

/** The state of the stream, read with the operator's login. */
async function streamState(nats: Nats): Promise<{ messages: number; lastSequence: number }> {
  const manager = await nats.connection.jetstreamManager({ checkAPI: false })
  const { state } = await manager.streams.info('ACCEPTED')
  return { messages: state.messages, lastSequence: state.last_seq }
}

test('the webhook service is down for longer than the stream keeps events', async () => {
  await using nats = await startTestNats()
  await using scene = await startScene({ natsUrlFor: nats.urlFor, env: { SVC_STREAM_SECONDS: '1' } })
  const load = scene.startLoad()
  await load.atLeast(3)
  await scene.stop()
  await scene.sendAndPromote(1)
  await load.atLeast(8)
  await load.stop()
  await eventually(async () => (await streamState(scene.admin)).messages === 0, RECOVERY)
  const more = scene.startLoad()
  await scene.start()
  await more.atLeast(3)
  await more.stop()
  await scene.expectOneJobEach()
}, 120_000)

test('the stream is at its limit: it drops the oldest events and accepts every new one', async () => {
  await using nats = await startTestNats()
  await using scene = await startScene({
    natsUrlFor: nats.urlFor,
    env: { SVC_STREAM_MAX_BYTES: String(1024 ** 2) },
  })
  await scene.stop()
  const load = scene.startLoad(15_000)
  await load.atLeast(30)
  const { messages, lastSequence } = await streamState(scene.admin)
  expect(messages).toBeLessThan(lastSequence)
  await scene.start()
  await load.atLeast(3)
  await load.stop()
  await scene.expectOneJobEach()
}, 120_000)

test('two of three NATS servers come back with older stores', async () => {
  await using cluster = await startNatsCluster()
  const natsUrlFor = (user: NatsLogin): string => cluster.urlFor(user, 0)
  await using scene = await startScene({ natsUrlFor, env: { SVC_NATS_REPLICAS: '3' } })
  const load = scene.startLoad()
  await load.atLeast(3)
  await eventually(async () => (await streamState(scene.admin)).messages > 0, RECOVERY)
  await scene.stop()
  for (const server of [1, 2]) await cluster.stop(server, 'SIGTERM')
  for (const server of [1, 2]) cluster.keepStore(server)
  for (const server of [1, 2]) await cluster.start(server)
  const { lastSequence: before } = await eventually(() => streamState(scene.admin), RECOVERY)
  await load.atLeast(8)
  const { lastSequence: held } = await eventually(async () => {
    const state = await streamState(scene.admin)
    return state.lastSequence > before + READERS * 8 && state
  }, RECOVERY)
  // The third server is down until the other two have agreed on their state.
  for (const server of [1, 2]) await cluster.stop(server, 'SIGKILL')
  for (const server of [1, 2]) cluster.bringStoreBack(server)
  cluster.signal(0, 'SIGSTOP')
  for (const server of [1, 2]) await cluster.start(server)
  const other = await connectNats({ url: cluster.urlFor('admin', 1), name: 'test-admin', logger, asOperator: true })
  try {
    const { lastSequence: left } = await eventually(() => streamState(other), RECOVERY)
    expect(left).toBeLessThan(held)
  } finally {
    cluster.signal(0, 'SIGCONT')
    await drainNats(other, 500)
  }
  await scene.start()
  await load.atLeast(3)
  await load.stop()
  await scene.expectOneJobEach()
}, 240_000)
