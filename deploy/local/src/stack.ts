/** Starts the whole system on one machine, step by step. Stops it in the opposite order. */
import { rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { OldLayoutError } from '@svc/postgres/migration/migrate.ts'
import type { LocalConfig } from './config.ts'
import { openDiscovery } from './engines/discovery.ts'
import { startNats } from './engines/nats.ts'
import { isPortFree } from './engines/ports.ts'
import { startPostgres } from './engines/postgres.ts'
import { removeScratch } from './engines/postgres-user.ts'
import { createDatabase, databaseExists, databaseUrl, migrateStores, prepareRoles, storeUrl } from './engines/roles.ts'
import { loadSecrets, type Secrets, secretsOfServer } from './engines/secrets.ts'
import { lockFolder } from './machine/folder-lock.ts'
import { checkMemory, prepareDataFolder } from './machine/resources.ts'
import { type LogEvent, parseLogLine } from './output/log-lines.ts'
import { metricsTargets, writeMetricsTargets } from './output/metrics-targets.ts'
import type { Child } from './processes/child.ts'
import { startKeeper } from './processes/keep.ts'
import { createMark, type Mark, reclaim } from './processes/marks.ts'
import { environmentFor, type SystemSettings, superviseService } from './processes/services.ts'
import { codeOf, StartError } from './start-error.ts'
import { type NatsUser, type ServiceName, START_GROUPS, STORES, type StoreName } from './topology.ts'

interface StackOptions {
  config: LocalConfig
  /** The launcher's environment. Every service gets it, with its own credentials instead of the launcher's. */
  env: NodeJS.ProcessEnv
  /** Called with every event of every process and of the launcher. */
  log: (process: string, event: LogEvent) => void
  /** When this is aborted, nothing more is started, and everything that was started is stopped. */
  signal: AbortSignal
  /** When this is aborted, processes get no time to finish. */
  force: AbortSignal
}

interface Stack extends AsyncDisposable {
  /** Base URLs of the gateways. */
  readonly urls: string[]
  /** Settles with a sentence if an engine ends by itself. */
  readonly failed: Promise<string>
}

/** The state of a run, from its first process on. */
interface Run extends StackOptions {
  readonly mark: Mark
  readonly secrets: Secrets
  /** Everything that was started. Stopped in the opposite order. */
  readonly started: AsyncDisposableStack
  /** Aborted with a sentence if an engine ends by itself. */
  readonly engineLost: AbortController
}

const DATABASE = 'svc'
const SHARED_BUFFERS_MIB = 128
/** Reserved for migrations and for manual inspection. */
const SPARE_CONNECTIONS = 30
const HEALTH_LIMIT_MS = 30_000
const HEALTH_POLL_MS = 50
const MAX_FAILED_STARTS = 3
/** Exit code of a service with an invalid configuration (libs/config, run-service.ts). A restart would not help. */
const EX_CONFIG = 78
const INFO = 30
const WARN = 40

/** @throws StartError with one sentence that says what is wrong. In that case no process is left running. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { config } = options
  await using started = new AsyncDisposableStack()
  const engineLost = new AbortController()

  prepareDataFolder(config.dataDir)
  started.defer(() => removeIfEmpty(config.dataDir))
  const processes = Object.values(config.replicas).reduce((sum, count) => sum + count, 1)
  checkMemory(processes, config.databaseUrl === undefined)
  const mark = createMark(config.dataDir)
  const keeper = await startKeeper(mark)
  started.defer(() => keeper.release())
  started.use(await lockFolder(config.dataDir, mark))
  const leftovers = await reclaim(mark.stack)
  if (leftovers.length > 0)
    say(options, INFO, `stopped processes that the previous run left behind: ${leftovers.join(', ')}`)
  removeScratch(mark)
  await checkPorts(config)

  const secrets = await loadSecrets(config.dataDir)
  const run: Run = { ...options, mark, secrets, started, engineLost }
  const databaseUrlFor = await startDatabase(run)
  const natsUrlFor = await startMessageBus(run)
  const targets = metricsTargets(config)
  started.defer(writeMetricsTargets(config.dataDir, targets))
  await startSystem(run, {
    natsUrlFor,
    databaseUrlFor,
    httpPort: config.httpPort,
    authority: config.authority,
    challengeKey: config.challengeKey ?? secrets.challengeKey,
    webhookSecretKey: config.webhookSecretKey ?? secrets.webhookSecretKey,
    metricsPorts: new Map(targets.map(({ process, port }) => [process, port])),
    env: { ...options.env, SVC_LOG_LEVEL: config.logLevel },
  })
  const running = started.move()
  return {
    urls: gatewayUrls(config),
    failed: reasonOf(engineLost.signal),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

/** Starts Postgres if needed, and migrates every schema. @returns a function from a store to its service's database URL. */
async function startDatabase(run: Run): Promise<(store: StoreName) => string> {
  const { config, secrets, signal } = run
  const external = config.databaseUrl
  const adminUrl = external ?? (await startEmbeddedPostgres(run))
  signal.throwIfAborted()
  const passwordOf = external === undefined ? secrets.rolePassword : secretsOfServer(external).rolePassword
  const setup = { adminUrl, stores: STORES, passwordOf }
  try {
    await prepareRoles(setup)
    await migrateStores({ ...setup, schemaDirOf })
  } catch (error) {
    throw explainDatabaseError(error, adminUrl, external !== undefined, config.dataDir)
  }
  signal.throwIfAborted()
  return (store) => storeUrl(setup, store)
}

async function startEmbeddedPostgres(run: Run): Promise<string> {
  const { config, mark, secrets } = run
  const withStore = STORES.reduce((sum, store) => sum + config.replicas[store], 0)
  const postgres = await startPostgres({
    folder: config.dataDir,
    mark,
    password: secrets.superuserPassword,
    durable: true,
    maxConnections: SPARE_CONNECTIONS + withStore * config.databasePool,
    sharedBuffersMib: SHARED_BUFFERS_MIB,
    onProblem: (line) => run.log('postgres', { timeMs: Date.now(), level: WARN, message: line, fields: {} }),
  })
  // On SIGQUIT, Postgres ends without a checkpoint and recovers at the next start.
  adopt(run, 'Postgres', postgres, 'SIGQUIT')
  if (!(await databaseExists(postgres.url, DATABASE))) await createDatabase(postgres.url, DATABASE)
  return databaseUrl(postgres.url, DATABASE)
}

async function startMessageBus(run: Run): Promise<(user: NatsUser) => string> {
  const { config, mark, secrets, started } = run
  const { natsUrl } = config
  if (natsUrl !== undefined) return () => natsUrl
  const nats = await startNats({
    folder: config.dataDir,
    mark,
    passwords: secrets.natsPasswords,
    onProblem: (line) => run.log('nats', { timeMs: Date.now(), level: WARN, message: line, fields: {} }),
  })
  adopt(run, 'NATS', nats, 'SIGKILL')
  run.signal.throwIfAborted()
  // The operator's commands read the URL from this file (libs/cli).
  const file = join(config.dataDir, 'admin-nats-url')
  writeFileSync(file, nats.urlFor('admin'), { mode: 0o600 })
  started.defer(() => rmSync(file, { force: true }))
  return (user) => nats.urlFor(user)
}

/** Makes the engine part of the run: the run stops it, and fails if the engine ends earlier. */
function adopt(
  run: Run,
  name: string,
  engine: Pick<Child, 'ended' | 'kill' | 'stop'>,
  forceSignal: NodeJS.Signals,
): void {
  let stopping = false
  void engine.ended.then(({ reason }) => {
    if (!stopping) run.engineLost.abort(`${name} ended by itself (${reason}), and the stack cannot work without it.`)
  })
  run.force.addEventListener('abort', () => engine.kill(forceSignal))
  run.started.defer(async () => {
    stopping = true
    await engine.stop()
  })
}

/** Starts the services in the order of their dependencies. Returns when every gateway reports all of them healthy. */
async function startSystem(run: Run, settings: SystemSettings): Promise<void> {
  const givenUp = Promise.withResolvers<never>()
  const ended = new AbortController()
  const signal = AbortSignal.any([run.signal, ended.signal])
  await using discovery = await openDiscovery({
    natsUrl: settings.natsUrlFor('admin'),
    natsAccess: run.config.natsAccess,
  })
  const steps = async (): Promise<void> => {
    for (const services of START_GROUPS) {
      signal.throwIfAborted()
      startServices(run, services, settings, givenUp.reject)
      const called = services.filter((service) => service !== 'gateway')
      await Promise.all(called.map((service) => discovery.untilServed(service, signal)))
    }
    await Promise.all(gatewayUrls(run.config).map((url) => waitForHealth(url, signal)))
  }
  try {
    const failure = await Promise.race([steps(), givenUp.promise, reasonOf(run.engineLost.signal)])
    if (failure !== undefined) throw new StartError(failure)
  } finally {
    ended.abort()
  }
}

/**
 * Starts all processes of these services at once. They also stop at once.
 * @param giveUp called with a StartError if a service cannot start. Has no effect once the stack is up.
 */
function startServices(
  run: Run,
  services: readonly ServiceName[],
  settings: SystemSettings,
  giveUp: (reason: StartError) => void,
): void {
  const supervisors = services.flatMap((service) =>
    Array.from({ length: run.config.replicas[service] }, (_, at) => {
      const index = at + 1
      const name = `${service}-${index}`
      let lastWords = ''
      return superviseService({
        service,
        index,
        mark: run.mark,
        env: environmentFor(service, index, settings),
        onLine: (line) => {
          const event = parseLogLine(line, Date.now())
          const telling = lastWords === '' || /error|configuration/i.test(event.message)
          if (event.level >= WARN && telling) lastWords = event.message
          run.log(name, event)
        },
        onRestart: ({ code, reason }, delayMs, failures) => {
          say(run, WARN, `${name} ended (${reason}) and restarts in ${delayMs / 1000} s`)
          if (code === EX_CONFIG || failures >= MAX_FAILED_STARTS)
            giveUp(new StartError(`${name} does not start: ${lastWords || reason}`))
        },
      })
    }),
  )
  // Without an engine, services could finish no work and would only wait for it.
  for (const end of [run.force, run.engineLost.signal]) {
    for (const { kill } of supervisors) end.addEventListener('abort', kill)
  }
  run.started.defer(async () => {
    await Promise.all(supervisors.map((supervisor) => supervisor.stop()))
  })
}

/** Waits for a gateway's health, which covers every service. */
async function waitForHealth(url: string, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + HEALTH_LIMIT_MS
  let last = 'no answer'
  while (Date.now() < deadline) {
    signal.throwIfAborted()
    try {
      const { status } = await fetch(`${url}/v2/health`, {
        signal: AbortSignal.any([signal, AbortSignal.timeout(5_000)]),
      })
      if (status === 200) return
      last = `status ${status}`
    } catch {
      last = 'no answer'
    }
    await sleep(HEALTH_POLL_MS)
  }
  throw new StartError(
    `The gateway at ${url} is not healthy after ${HEALTH_LIMIT_MS / 1000} s (${last}): see the log above.`,
  )
}

async function checkPorts(config: LocalConfig): Promise<void> {
  for (const port of gatewayPorts(config)) {
    let free: boolean
    try {
      free = await isPortFree(port, config.httpHost)
    } catch (error) {
      throw new StartError(
        `The gateway cannot listen on port ${port} of ${config.httpHost} (${codeOf(error)}): set SVC_HTTP_PORT to another port.`,
      )
    }
    if (!free)
      throw new StartError(
        `Port ${port} is in use by another program: end that program, or set SVC_HTTP_PORT to another port.`,
      )
  }
  for (const { port } of metricsTargets(config)) {
    if (!(await isPortFree(port)))
      throw new StartError(
        `Port ${port}, for metrics, is in use by another program: end that program, or set SVC_METRICS_PORT to another port.`,
      )
  }
}

function gatewayPorts({ httpPort, replicas }: LocalConfig): number[] {
  return Array.from({ length: replicas.gateway }, (_, at) => httpPort + at)
}

function gatewayUrls(config: LocalConfig): string[] {
  return gatewayPorts(config).map((port) => `http://${reachableHost(config.httpHost)}:${port}`)
}

/** The host under which this machine reaches a gateway that listens on `host`. */
function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

function schemaDirOf(store: StoreName): string {
  return fileURLToPath(new URL(`../../../services/${store}/database`, import.meta.url))
}

function explainDatabaseError(error: unknown, adminUrl: string, external: boolean, dataDir: string): unknown {
  if (error instanceof OldLayoutError) {
    return new StartError(
      external
        ? 'The database in SVC_DATABASE_URL has the tables of an earlier version, which cannot be upgraded: name an empty database.'
        : `${dataDir} has the data of an earlier version, which cannot be upgraded: delete this folder, or set SVC_DATA_DIR to another one.`,
    )
  }
  const code = codeOf(error)
  if (external && /^(E[A-Z]+|CONNECT_TIMEOUT|CONNECTION_.*)$/.test(code)) {
    return new StartError(`Postgres at ${new URL(adminUrl).host} (SVC_DATABASE_URL) does not answer (${code}).`)
  }
  if (code !== '28P01') return error
  return external
    ? new StartError('Postgres refuses the user or password in SVC_DATABASE_URL.')
    : new StartError(
        `${join(dataDir, 'secret.key')} is not the key that this data was made with: put the original file back.`,
      )
}

/** Settles with the reason why `signal` is aborted. */
function reasonOf(signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(String(signal.reason))
    else signal.addEventListener('abort', () => resolve(String(signal.reason)))
  })
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // the folder already contains data
  }
}

function say({ log }: Pick<StackOptions, 'log'>, level: number, message: string): void {
  log('stack', { timeMs: Date.now(), level, message, fields: {} })
}
