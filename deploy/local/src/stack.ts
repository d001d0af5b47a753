/** The whole system on one machine, in start order; it stops in the opposite one. */
import { rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Child } from './child.ts'
import type { LocalConfig } from './config.ts'
import { openDiscovery } from './discovery.ts'
import { lockFolder } from './folder-lock.ts'
import { startKeeper } from './keep.ts'
import { type LogEvent, parseLogLine } from './log-lines.ts'
import { createMark, type Mark, reclaim } from './marks.ts'
import { metricsTargets, writeMetricsTargets } from './metrics-targets.ts'
import { startNats } from './nats.ts'
import { isPortFree } from './ports.ts'
import { startPostgres } from './postgres.ts'
import { removeScratch } from './postgres-user.ts'
import { checkMemory, prepareDataFolder } from './resources.ts'
import { createDatabase, databaseExists, databaseUrl, migrateStores, prepareRoles, storeUrl } from './roles.ts'
import { mayInterrupt } from './scheduling.ts'
import { loadSecrets, type Secrets, secretsOfServer } from './secrets.ts'
import { environmentFor, type SystemSettings, superviseService } from './services.ts'
import { codeOf, StartError } from './start-error.ts'
import { type NatsUser, type ServiceName, START_GROUPS, STORES, type StoreName } from './topology.ts'

export interface StackOptions {
  config: LocalConfig
  /** The launcher's own; every service gets it too, with its own credentials in place of these. */
  env: NodeJS.ProcessEnv
  /** Every event of every process, and the launcher's own. */
  log: (process: string, event: LogEvent) => void
  /** Aborted: nothing more is begun, and what was begun is ended. */
  signal: AbortSignal
  /** Aborted: nothing is given time to finish. */
  force: AbortSignal
}

export interface Stack extends AsyncDisposable {
  /** Base addresses of the gateways. */
  readonly urls: string[]
  /** Settles, with a sentence, when an engine ended by itself. */
  readonly failed: Promise<string>
}

/** What is under way, from the first process on. */
interface Run extends StackOptions {
  readonly mark: Mark
  readonly secrets: Secrets
  /** Ended in the opposite order. */
  readonly started: AsyncDisposableStack
  /** With a sentence: an engine ended by itself. */
  readonly engineLost: AbortController
}

const DATABASE = 'svc'
const SHARED_BUFFERS_MIB = 128
/** For migrations, and for looking into it. */
const SPARE_CONNECTIONS = 30
const HEALTH_LIMIT_MS = 30_000
const HEALTH_POLL_MS = 50
const MAX_FAILED_STARTS = 3
/** How a service ends over its configuration (libs/config, run-service.ts): trying again would change nothing. */
const EX_CONFIG = 78
const INFO = 30
const WARN = 40

/** @throws StartError with one sentence for what is in the way; nothing is left running then. */
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
  if (leftovers.length > 0) say(options, INFO, `ended what the run before had left: ${leftovers.join(', ')}`)
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

/** @returns where each store's service finds its schema, at its latest migration. */
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
  // SIGQUIT: Postgres ends without a checkpoint and recovers at the next start.
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
  if (nats.pid !== undefined) mayInterrupt(nats.pid)
  run.signal.throwIfAborted()
  // Where the operator's commands find it (libs/cli).
  const file = join(config.dataDir, 'admin-nats-url')
  writeFileSync(file, nats.urlFor('admin'), { mode: 0o600 })
  started.defer(() => rmSync(file, { force: true }))
  return (user) => nats.urlFor(user)
}

/** An engine is stopped with the run; should it end before, the run has failed. */
function adopt(
  run: Run,
  name: string,
  engine: Pick<Child, 'ended' | 'kill' | 'stop'>,
  forceSignal: NodeJS.Signals,
): void {
  let stopping = false
  void engine.ended.then(({ reason }) => {
    if (!stopping) run.engineLost.abort(`${name} ended by itself (${reason}), and nothing works without it.`)
  })
  run.force.addEventListener('abort', () => engine.kill(forceSignal))
  run.started.defer(async () => {
    stopping = true
    await engine.stop()
  })
}

/** Starts the services, those that others call first, and returns when every gateway finds all of them healthy. */
async function startSystem(run: Run, settings: SystemSettings): Promise<void> {
  const givenUp = Promise.withResolvers<never>()
  const ended = new AbortController()
  const signal = AbortSignal.any([run.signal, ended.signal])
  await using discovery = await openDiscovery(settings.natsUrlFor('admin'))
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
 * Starts all processes of these services at once; they are stopped at once as well.
 * @param giveUp told, with a StartError, of a service that cannot start, which has a meaning until the stack is up.
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
          say(run, WARN, `${name} ended (${reason}) and starts again in ${delayMs / 1000} s`)
          if (code === EX_CONFIG || failures >= MAX_FAILED_STARTS)
            giveUp(new StartError(`${name} does not start: ${lastWords || reason}`))
        },
      })
    }),
  )
  // Without an engine they could finish nothing, and would only wait for it.
  for (const end of [run.force, run.engineLost.signal]) {
    for (const { kill } of supervisors) end.addEventListener('abort', kill)
  }
  run.started.defer(async () => {
    await Promise.all(supervisors.map((supervisor) => supervisor.stop()))
  })
}

/** The gateway's health asks every service. */
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
        `The gateway cannot listen on port ${port} of ${config.httpHost} (${codeOf(error)}): set SVC_HTTP_PORT to another.`,
      )
    }
    if (!free)
      throw new StartError(`Port ${port} is in use by another program: end that, or set SVC_HTTP_PORT to another port.`)
  }
  for (const { port } of metricsTargets(config)) {
    if (!(await isPortFree(port)))
      throw new StartError(
        `Port ${port}, for metrics, is in use by another program: end that, or set SVC_METRICS_PORT to another.`,
      )
  }
}

function gatewayPorts({ httpPort, replicas }: LocalConfig): number[] {
  return Array.from({ length: replicas.gateway }, (_, at) => httpPort + at)
}

function gatewayUrls(config: LocalConfig): string[] {
  return gatewayPorts(config).map((port) => `http://${reachableHost(config.httpHost)}:${port}`)
}

/** Where one asks a gateway that listens on `host`. */
function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

function schemaDirOf(store: StoreName): string {
  return fileURLToPath(new URL(`../../../services/${store}/database`, import.meta.url))
}

function explainDatabaseError(error: unknown, adminUrl: string, external: boolean, dataDir: string): unknown {
  const code = codeOf(error)
  if (external && /^(E[A-Z]+|CONNECT_TIMEOUT|CONNECTION_.*)$/.test(code)) {
    return new StartError(`Postgres at ${new URL(adminUrl).host} (SVC_DATABASE_URL) does not answer (${code}).`)
  }
  if (code !== '28P01') return error
  return external
    ? new StartError('Postgres refuses the user or password in SVC_DATABASE_URL.')
    : new StartError(`${join(dataDir, 'secret.key')} is not the one that this data was made with: put that back.`)
}

/** Settles with what `signal` is aborted with. */
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
    // It holds data.
  }
}

function say({ log }: Pick<StackOptions, 'log'>, level: number, message: string): void {
  log('stack', { timeMs: Date.now(), level, message, fields: {} })
}
