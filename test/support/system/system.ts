import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { environmentFor, type SystemSettings } from '@svc/local/services.ts'
import { SERVICES, type ServiceName, STORES } from '@svc/local/topology.ts'
import { watchAnswers } from '../description/described-answers.ts'
import { createTestDatabase, type TestDatabase } from '../engines/database.ts'
import { findTestRun, startTestNats, type TestNats, takePorts } from '../engines/engines.ts'
import { eventually } from '../eventually.ts'
import { startTestProcess, type TestProcess } from './processes.ts'

/** A whole system as in production: processes, NATS between them, and its own database. */
export interface TestSystem extends AsyncDisposable {
  /** Base addresses of the gateways. */
  readonly urls: readonly string[]
  /** The authority that signatures name, the same for all gateways. */
  readonly authority: string
  readonly database: TestDatabase
  readonly nats: TestNats
  /** The running processes, by name: `messaging-1`. */
  readonly processes: ReadonlyMap<string, TestProcess>
  /** Restarts an ended process under its old name and with its old settings. `env` applies only to this start. */
  start(name: string, env?: NodeJS.ProcessEnv): Promise<TestProcess>
  /** Sends SIGKILL. */
  kill(name: string): Promise<void>
}

export interface SystemOptions {
  /** Processes of each service. Default 2, so that a test fails if a process hides state from the others. */
  replicas?: Partial<Record<ServiceName, number>>
  /** Environment of every service. */
  env?: NodeJS.ProcessEnv
  /** Environment of one process: `{ 'messaging-1': { SVC_FAILPOINTS: ... } }`. */
  envOf?: Record<string, NodeJS.ProcessEnv>
  /** A database of the test, which is deleted with the system. */
  database?: TestDatabase
  /** A NATS server of the test, which is stopped with the system. */
  nats?: TestNats
  /** Maps the URL of a store to the URL that a process gets, e.g. of a proxy. @param name e.g. `messaging-1`. */
  databaseUrl?: (url: string, name: string) => string
  /** The same for the URLs of NATS. */
  natsUrl?: (url: string, name: string) => string
}

const REPLICAS = 2
/** The base for tests that need two processes of only some services. Starting a process takes a second of CPU. */
export const ONE_OF_EACH: Readonly<Record<ServiceName, number>> = {
  budget: 1,
  boards: 1,
  webhook: 1,
  messaging: 1,
  identity: 1,
  stream: 1,
  gateway: 1,
}
const HEALTHY_LIMIT_MS = 60_000
const RETRY_MS = 1_000
/** Makes proofs of work easy and limits high, so that no test waits for them. */
const TEST_SETTINGS: NodeJS.ProcessEnv = {
  SVC_POW_DIFFICULTY: '4',
  SVC_RATE_PER_SECOND: '100000',
  SVC_RATE_BURST: '100000',
  SVC_REGISTRATION_RATE_PER_SECOND: '100000',
  SVC_REGISTRATION_RATE_BURST: '100000',
}

/** Starts a system. Every answer that this process receives from it is checked against its description. */
export async function startSystem(options: SystemOptions = {}): Promise<TestSystem> {
  await using started = new AsyncDisposableStack()
  const system = started.use(await startUnwatched(options))
  const answers = started.use(await watchAnswers(system.urls))
  const running = started.move()
  return {
    ...system,
    async [Symbol.asyncDispose]() {
      await running.disposeAsync()
      answers.check()
    },
  }
}

/** Starts a system without checking its answers, for a process that keeps the system for others. */
export async function startUnwatched({
  replicas = {},
  env = {},
  envOf = {},
  database: own,
  nats: ownNats,
  databaseUrl = (url) => url,
  natsUrl = (url) => url,
}: SystemOptions = {}): Promise<TestSystem> {
  await using started = new AsyncDisposableStack()
  const run = await findTestRun()
  const database = started.use(own ?? (await createTestDatabase(STORES)))
  const nats = started.use(ownNats ?? (await startTestNats()))
  const countOf = (service: ServiceName): number => replicas[service] ?? REPLICAS
  const httpPort = await takePorts(countOf('gateway'))
  const authority = `127.0.0.1:${httpPort}`
  const settings: SystemSettings = {
    natsUrlFor: nats.urlFor,
    databaseUrlFor: database.urlFor,
    httpPort,
    authority,
    challengeKey: randomBytes(32).toString('hex'),
    webhookSecretKey: randomBytes(32).toString('hex'),
    env: { PATH: process.env.PATH, ...TEST_SETTINGS, ...env },
  }
  const processes = new Map<string, TestProcess>()
  started.defer(() => stopAll(processes))

  const launch = (name: string, extra: NodeJS.ProcessEnv = {}): TestProcess => {
    const { service, index } = parseName(name)
    const urls: SystemSettings = {
      ...settings,
      natsUrlFor: (user) => natsUrl(nats.urlFor(user), name),
      databaseUrlFor: (store) => databaseUrl(database.urlFor(store), name),
    }
    const own = { ...environmentFor(service, index, urls), ...envOf[name], ...extra }
    const child = startTestProcess({ service, index, run, env: own })
    processes.set(name, child)
    return child
  }
  const names = SERVICES.flatMap((service) =>
    Array.from({ length: countOf(service) }, (_, at) => `${service}-${at + 1}`),
  )
  await Promise.all(names.map((name) => launch(name).untilReady()))
  const urls = Array.from({ length: countOf('gateway') }, (_, at) => `http://127.0.0.1:${httpPort + at}`)
  await Promise.all(urls.map(untilHealthy))

  const running = started.move()
  return {
    urls,
    authority,
    database,
    nats,
    processes,
    async start(name, extra) {
      const child = launch(name, extra)
      await child.untilReady()
      return child
    },
    async kill(name) {
      await processes.get(name)?.kill('SIGKILL')
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

/** Stop the gateways first, because the requests that they are still handling need the other services. */
async function stopAll(processes: ReadonlyMap<string, TestProcess>): Promise<void> {
  const [gateways, others] = [true, false].map((wanted) =>
    [...processes.values()].filter(({ name }) => name.startsWith('gateway') === wanted),
  )
  await Promise.all(gateways?.map((gateway) => gateway.stop()) ?? [])
  await Promise.all(others?.map((other) => other.stop()) ?? [])
}

/** Polls only as often as a client that follows `Retry-After`, because some tests limit the rate of their address. */
async function untilHealthy(url: string): Promise<void> {
  const isHealthy = async (): Promise<boolean> => {
    const { status } = await fetch(`${url}/v2/health`)
    if (status !== 200) await sleep(RETRY_MS)
    return status === 200
  }
  await eventually(isHealthy, { timeoutMs: HEALTHY_LIMIT_MS, what: `${url} being healthy` })
}

function parseName(name: string): { service: ServiceName; index: number } {
  const [prefix, digits] = name.split('-')
  const service = SERVICES.find((one) => one === prefix)
  if (service === undefined) throw new Error(`no service is called ${prefix}`)
  return { service, index: Number(digits) }
}
