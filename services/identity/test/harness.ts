import { randomBytes } from 'node:crypto'
import { issueChallenge, registerAgent } from '@svc/contracts/identity.ts'
import type { Registration } from '@svc/contracts/resources.ts'
import { type Database, openDatabase } from '@svc/postgres/database.ts'
import type { KeyPair } from '@svc/svc1/key-pair.ts'
import { solveWork } from '@svc/svc1/pow.ts'
import { formatPublicKey } from '@svc/svc1/public-key.ts'
import { createTestDatabase } from '@svc/test/support/engines/database.ts'
import { startTestNats } from '@svc/test/support/engines/engines.ts'
import { type BudgetPeer, startBudgetPeer } from '@svc/test/support/stand-ins/budget-peer.ts'
import type { TestProcess } from '@svc/test/support/system/processes.ts'
import { connectCalls, type ServiceCalls, spawnWithin, startWithin } from '@svc/test/support/system/service-harness.ts'
import type { IdentityConfig } from '../src/config.ts'
import { startIdentity } from '../src/service.ts'
import { type MessagingPeer, startMessagingPeer, startWebhookPeer, type WebhookPeer } from './peers.ts'
import { newKey, silent } from './store.ts'

const AUTHORITY = 'agents.example:8443'
const RESERVED = ['admin']
const DIFFICULTY = 4
/** A gateway waits 5 s. These timeouts are longer, because the machine is shared and the tests are about correctness. */
const DEFAULT_CALL_TIMEOUT_MS = 20_000

export interface Harness extends AsyncDisposable, ServiceCalls {
  readonly config: IdentityConfig
  /** The URL of NATS for an operator. */
  readonly adminUrl: string
  /** As the service's own role. */
  readonly database: Database
  readonly messaging: MessagingPeer
  readonly webhook: WebhookPeer
  readonly budget: BudgetPeer
  /** A challenge with its work done, ready to be sent. */
  prepare(key: KeyPair, name: string): Promise<Registration>
  /** Registers a new key. @returns the key. */
  register(name: string): Promise<KeyPair>
  /** Runs another instance in this process. */
  start(): Promise<AsyncDisposable>
  /** Starts a process of the service, for tests that kill it. */
  spawn(env?: NodeJS.ProcessEnv): Promise<TestProcess>
}

interface HarnessOptions {
  /** The number of instances; 2, so that a test fails if state is hidden in one. */
  replicas?: number
  challengeKeys?: string[]
  /** The timeout of a call. */
  callTimeoutMs?: number
}

/** The service on real engines, with stand-ins for the services that it calls. */
export async function startHarness({
  replicas = 2,
  challengeKeys = [randomKey()],
  callTimeoutMs = DEFAULT_CALL_TIMEOUT_MS,
}: HarnessOptions = {}): Promise<Harness> {
  await using stack = new AsyncDisposableStack()
  const testDatabase = stack.use(await createTestDatabase(['identity']))
  const nats = stack.use(await startTestNats())
  const messaging = stack.use(await startMessagingPeer(nats.urlFor('messaging')))
  const webhook = stack.use(await startWebhookPeer(nats.urlFor('webhook')))
  const budget = stack.use(await startBudgetPeer(nats.urlFor('budget')))
  const config: IdentityConfig = {
    natsUrl: nats.urlFor('identity'),
    databaseUrl: testDatabase.urlFor('identity'),
    process: { logLevel: 'silent', metrics: undefined },
    authority: AUTHORITY,
    reservedNames: RESERVED,
    securityLog: false,
    powDifficulty: DIFFICULTY,
    challengeKeys,
    poolSize: 4,
  }
  for (let replica = 0; replica < replicas; replica += 1) stack.use(await startIdentity(config))
  const { call, codeOf } = await connectCalls(stack, nats.urlFor('gateway'), callTimeoutMs)
  const database = stack.use(openDatabase({ url: config.databaseUrl, application: 'test', logger: silent }))

  const prepare: Harness['prepare'] = async (key, name) => {
    const pubkey = formatPublicKey(key.publicKey)
    const { challenge, difficulty } = await call(issueChallenge, { pubkey })
    return { name, pubkey, challenge, nonce: await solveWork(challenge, difficulty) }
  }
  const running = stack.move()
  return {
    config,
    adminUrl: nats.urlFor('admin'),
    database,
    messaging,
    webhook,
    budget,
    call,
    prepare,
    codeOf,
    async register(name) {
      const key = newKey()
      await call(registerAgent, await prepare(key, name))
      return key
    },
    start: () => startWithin(running, () => startIdentity(config)),
    spawn: (env = {}) =>
      spawnWithin(running, 'identity', {
        SVC_NATS_URL: config.natsUrl,
        SVC_DATABASE_URL: config.databaseUrl,
        SVC_AUTHORITY: config.authority,
        SVC_RESERVED_NAMES: config.reservedNames.join(','),
        SVC_POW_DIFFICULTY: String(config.powDifficulty),
        SVC_CHALLENGE_KEY: config.challengeKeys.join(','),
        ...env,
      }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

export function randomKey(): string {
  return randomBytes(32).toString('hex')
}
