import { randomBytes } from 'node:crypto'
import { acceptedSubject } from '@svc/contracts/accepted.ts'
import type { Lane, WebhookState } from '@svc/contracts/resources.ts'
import { getWebhook, setWebhook } from '@svc/contracts/webhook.ts'
import { connectNats, drainNats } from '@svc/nats/connect.ts'
import { KeptStream } from '@svc/nats/streams/kept-stream.ts'
import { createPublishEvents, type Publication } from '@svc/nats/streams/publish-events.ts'
import { acceptedStream } from '@svc/nats/streams/streams.ts'
import type { Resolve } from '@svc/outbound/resolve.ts'
import { type Database, openDatabase } from '@svc/postgres/database.ts'
import { agentIdOf } from '@svc/svc1/agent-id.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { createTestDatabase } from '@svc/test/support/engines/database.ts'
import { startTestNats, type TestNats } from '@svc/test/support/engines/engines.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { type BudgetPeer, startBudgetPeer } from '@svc/test/support/stand-ins/budget-peer.ts'
import { type MessagingPeer, startMessagingPeer } from '@svc/test/support/stand-ins/messaging-peer.ts'
import { startReceiver, type WebhookReceiver } from '@svc/test/support/stand-ins/webhook-receiver.ts'
import type { TestProcess } from '@svc/test/support/system/processes.ts'
import { connectCalls, type ServiceCalls, spawnWithin, startWithin } from '@svc/test/support/system/service-harness.ts'
import type { WebhookConfig } from '../src/config.ts'
import { startWebhook } from '../src/service.ts'

export const silent = createLogger('test', 'silent')
export const SECRET = 'a secret that has thirty-two characters'
const CALL_TIMEOUT_MS = 5_000
const HOUR_SECONDS = 3_600
const NATS_BACK = { timeoutMs: 20_000, what: 'the stream being there' }

export interface Harness extends AsyncDisposable, ServiceCalls {
  readonly config: WebhookConfig
  /** As the service's own role. */
  readonly database: Database
  readonly budget: BudgetPeer
  readonly messaging: MessagingPeer
  readonly nats: TestNats
  readonly receiver: WebhookReceiver
  /** Sets an agent's webhook to a path of the receiver. */
  set(agentId: string, path: string, after?: number): Promise<WebhookState>
  state(agentId: string): Promise<WebhookState>
  /**
   * Publishes an event like messaging.
   * @returns the envelope's text.
   */
  accept(agentId: string, cursor: number, event?: Partial<AcceptedEvent>): Promise<string>
  /**
   * Appends to the log like messaging, but without JetStream.
   * @returns the message's id.
   */
  acceptUnheard(agentId: string, cursor: number, event?: Partial<AcceptedEvent>): string
  /** Appends many entries at once. */
  acceptAll(events: readonly (Partial<AcceptedEvent> & { agentId: string; cursor: number })[]): Promise<void>
  /** Runs another instance in this process. */
  start(changes?: Partial<WebhookConfig>): Promise<AsyncDisposable>
  /** Starts a process of the service, for tests that kill it. */
  spawn(env?: NodeJS.ProcessEnv): Promise<TestProcess>
}

interface AcceptedEvent {
  kind: Lane
  messageId: string
  envelope: string
  expiresAt: number
}

interface HarnessOptions {
  /** The number of instances; 2, so that a test fails if state is hidden in one. */
  replicas?: number
  config?: Partial<WebhookConfig>
  resolve?: Resolve
  /** Replaces the URL of the database that the service gets, e.g. by that of a proxy. */
  databaseUrl?: (url: string) => string
}

/** The service on real engines, with a stand-in for budget, a stream like messaging's, and a receiver. */
export async function startHarness({
  replicas = 2,
  config: changes = {},
  resolve,
  databaseUrl = (url) => url,
}: HarnessOptions = {}): Promise<Harness> {
  await using stack = new AsyncDisposableStack()
  const testDatabase = stack.use(await createTestDatabase(['webhook']))
  const nats = stack.use(await startTestNats())
  const budget = stack.use(await startBudgetPeer(nats.urlFor('budget')))
  const messaging = stack.use(await startMessagingPeer(nats.urlFor('messaging')))
  const receiver = stack.use(await startReceiver())
  const config: WebhookConfig = {
    natsUrl: nats.urlFor('webhook'),
    databaseUrl: databaseUrl(testDatabase.urlFor('webhook')),
    process: { logLevel: 'silent', metrics: undefined },
    poolSize: 4,
    backoff: [0, 0, 0, 0, 0],
    secretKeys: [randomBytes(32).toString('hex')],
    exemptTargets: new Set([receiver.host]),
    concurrency: 64,
    attemptSeconds: 10,
    leaseSeconds: 15,
    reconcileSeconds: 3_600,
    streamManagement: 'create',
    securityLog: false,
    ...changes,
  }
  const { call, codeOf } = await connectCalls(stack, nats.urlFor('gateway'), CALL_TIMEOUT_MS)
  const messagingNats = await connectNats({ url: nats.urlFor('messaging'), name: 'test-messaging', logger: silent })
  const stream = await KeptStream.open(stack.adopt(messagingNats, drainNats), acceptedStream(1))
  await stream.keep()
  const publish = createPublishEvents(messagingNats, silent)
  for (let replica = 0; replica < replicas; replica += 1) stack.use(await startWebhook(config, resolve))
  const database = stack.use(openDatabase({ url: testDatabase.urlFor('webhook'), application: 'test', logger: silent }))

  const append = (agentId: string, cursor: number, event: AcceptedEvent): Publication => {
    const publication = publicationOf(agentId, cursor, event)
    messaging.append({ agentId, cursor, ...event, text: publication.text })
    return publication
  }
  const acceptAll: Harness['acceptAll'] = async (events) => {
    const publications = events.map(({ agentId, cursor, ...event }) => append(agentId, cursor, completed(event)))
    await eventually(() => stream.keep(), NATS_BACK) // NATS may still be starting
    for (let at = 0; at < publications.length; at += 500) {
      publish(publications.slice(at, at + 500))
      await messagingNats.connection.flush()
    }
  }
  const running = stack.move()
  return {
    config,
    database,
    budget,
    messaging,
    nats,
    receiver,
    call,
    codeOf,
    set: (agent_id, path, after = 0) =>
      call(setWebhook, { agent_id, webhook: { url: receiver.urlFor(path), secret: SECRET }, after }),
    state: (agent_id) => call(getWebhook, { agent_id }),
    async accept(agentId, cursor, event = {}) {
      const whole = completed(event)
      await acceptAll([{ agentId, cursor, ...whole }])
      return whole.envelope
    },
    acceptUnheard(agentId, cursor, event = {}) {
      const whole = completed(event)
      append(agentId, cursor, whole)
      return whole.messageId
    },
    acceptAll,
    start: (more = {}) => startWithin(running, () => startWebhook({ ...config, ...more }, resolve)),
    spawn: (env = {}) => spawnWithin(running, 'webhook', { ...environmentOf(config, receiver), ...env }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

/** The configuration in the form that a process gets. */
function environmentOf(config: WebhookConfig, receiver: WebhookReceiver): NodeJS.ProcessEnv {
  return {
    SVC_NATS_URL: config.natsUrl,
    SVC_DATABASE_URL: config.databaseUrl,
    SVC_WEBHOOK_SECRET_KEY: config.secretKeys.join(','),
    SVC_WEBHOOK_BACKOFF_SECONDS: config.backoff.join(','),
    SVC_WEBHOOK_ATTEMPT_SECONDS: String(config.attemptSeconds),
    SVC_WEBHOOK_LEASE_SECONDS: String(config.leaseSeconds),
    SVC_WEBHOOK_RECONCILE_SECONDS: String(config.reconcileSeconds),
    SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS: [...config.exemptTargets].join(','),
    NODE_EXTRA_CA_CERTS: receiver.caFile,
  }
}

function completed(event: Partial<AcceptedEvent>): AcceptedEvent {
  const messageId = event.messageId ?? randomBytes(12).toString('base64url')
  return {
    kind: 'inbox',
    messageId,
    envelope: `{"id":"${messageId}","body":[1.0,"ü \\u0000 \\"{"]}`,
    expiresAt: Math.floor(Date.now() / 1000) + HOUR_SECONDS,
    ...event,
  }
}

function publicationOf(agentId: string, cursor: number, { kind, envelope, expiresAt }: AcceptedEvent): Publication {
  return {
    subject: acceptedSubject(agentId, kind),
    text: `{"cursor":${cursor},"kind":"${kind}","message":{"envelope":${envelope},"lane":"${kind}","created_at":1,"expires_at":${expiresAt},"acked":false,"upvotes":0}}`,
    acceptedMs: Date.now(),
  }
}

/** The id of a new agent. */
export function newAgent(): string {
  return agentIdOf(randomBytes(32))
}
