import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { findBuild } from '@svc/build/find.ts'
import { type NatsServer, startNats } from '@svc/local/engines/nats.ts'
import { findFreePort } from '@svc/local/engines/ports.ts'
import { type Engine, startPostgres } from '@svc/local/engines/postgres.ts'
import { createDatabase, migrateStores, prepareRoles, type StoreSetup, storeUrl } from '@svc/local/engines/roles.ts'
import { deriveSecrets, secretsOfServer } from '@svc/local/engines/secrets.ts'
import { type LogEvent, parseLogLine } from '@svc/local/output/log-lines.ts'
import { environmentFor, type SystemSettings, startService } from '@svc/local/services.ts'
import { type NatsUser, SERVICES, type ServiceName, STORES } from '@svc/local/topology.ts'
import type { Child, Ending } from '@svc/processes/child.ts'
import { startKeeper } from '@svc/processes/keep.ts'
import { createMark, findMarked, type Mark } from '@svc/processes/marks.ts'
import { removeScratch } from '@svc/processes/scratch.ts'
import { eventually } from '../../support/eventually.ts'
import { type Network, startNetwork } from '../proxy/network.ts'

/**
 * A whole system that faults may break. As in production, a supervisor restarts every process. No other system shares its
 * engines. It does not need vitest, so a run can last a minute or an hour.
 */
export interface FaultSystem extends AsyncDisposable {
  /** Base addresses of the gateways. */
  readonly urls: readonly string[]
  /** The authority that signatures name. */
  readonly authority: string
  /** The URL of a NATS user. It bypasses the proxies of the network. */
  natsUrlFor(user: NatsUser): string
  /** The URL of the superuser. It bypasses the proxies of the network. */
  readonly adminUrl: string
  /** The URL of a store's role. It bypasses the proxies of the network. */
  roleUrl(role: string): string
  /** A folder of this run, deleted at its end. */
  readonly folder: string
  /** `gateway-1`, `messaging-2`, ... */
  readonly names: readonly string[]
  pidOf(name: string): number | undefined
  /** The last log lines of a process since its last start. */
  logOf(name: string): readonly LogEvent[]
  /**
   * Sends a signal and waits until the process has ended. The supervisor restarts it, with these additional variables for
   * that start only.
   */
  end(name: string, signal: NodeJS.Signals, nextEnv?: NodeJS.ProcessEnv): Promise<Ending>
  /** From its next start on, the process runs this code. */
  setRelease(name: string, release: Release): void
  /** Runs the migrations while all processes run, as an operator does before an upgrade. */
  migrate(release: Release): Promise<void>
  /** Waits until a process with this name is ready. */
  untilReady(name: string, timeoutMs?: number): Promise<void>
  /** Never throws, because the process may just have ended. */
  signal(pid: number, signal: NodeJS.Signals): void
  /** The proxies between processes and engines, and between gateways and stream processes. */
  readonly network: Network
  readonly postgres: EngineControl
  readonly nats: EngineControl
  /** Waits until every process is ready and every gateway is healthy. */
  untilHealthy(timeoutMs: number): Promise<void>
}

interface EngineControl {
  readonly port: number
  /** The process of NATS, or Postgres's postmaster and then all of its children. */
  pids(): number[]
  /** Sends SIGKILL. The engine stays down until `start`. */
  kill(): Promise<void>
  /** Shuts the engine down properly. It stays down until `start`. */
  stop(): Promise<void>
  /** A no-op if the engine runs. @param options.wipe deletes all stored data; only for NATS. */
  start(options?: { wipe?: boolean }): Promise<void>
}

export interface FaultSystemOptions {
  readonly replicas?: Partial<Record<ServiceName, number>>
  /** Environment of every service. */
  readonly env?: NodeJS.ProcessEnv
  /** Called with each line that an engine or a process logs at warning or above. */
  readonly onProblem?: (name: string, line: string) => void
  /** The code of the processes, and the initial state of the database and NATS. Default: this tree. */
  readonly release?: Release
  /** If false, processes connect to the engines directly. All proxies run in this process, so under load they are a bottleneck. */
  readonly isProxied?: boolean
}

/** The code of processes, and how to prepare the engines for it. */
export interface Release {
  /** The module of a service; by default that of this tree's build. */
  readonly moduleOf?: (service: ServiceName) => string
  /** NATS's configuration file. */
  readonly natsConfig: string
  /** Environment of its processes, besides that of the system. */
  readonly env?: NodeJS.ProcessEnv
  /** Creates roles and runs migrations. Idempotent. */
  migrate(setup: StoreSetup): Promise<void>
}

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** The code of this tree. */
export const THIS_RELEASE: Release = {
  natsConfig: join(ROOT, 'deploy/local/nats.conf'),
  async migrate(setup) {
    await prepareRoles(setup)
    await migrateStores({ ...setup, schemaDirOf: (store) => join(ROOT, 'services', store, 'database') })
  },
}

const REPLICAS = 2
const POSTGRES_CONNECTIONS = 200
const RESTART_MS = 150
const MAX_RESTART_MS = 2_000
/** A process that has run for this long has started successfully. */
const SETTLED_MS = 5_000
const READY_LIMIT_MS = 90_000
const KEPT_LOG_LINES = 200
const LINES_IN_ERROR = 5
const WARN = 40

interface Supervised {
  child: Child
  /** The log of the current child. */
  log: LogEvent[]
  ready: boolean
  nextEnv: NodeJS.ProcessEnv
}

export async function startFaultSystem(options: FaultSystemOptions = {}): Promise<FaultSystem> {
  const { replicas = {}, env = {}, onProblem = () => {}, release = THIS_RELEASE, isProxied = true } = options
  await using started = new AsyncDisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'svc-faults-'))
  const mark = createMark(folder)
  const build = await findBuild()
  const keeper = await startKeeper(mark, folder)
  started.defer(async () => {
    await keeper.release()
    rmSync(folder, { recursive: true, force: true })
  })
  started.defer(() => removeScratch(mark))
  const network = started.use(await startNetwork(replicas))

  const password = randomBytes(16).toString('hex')
  const postgres = started.use(
    await superviseEngine(mark, 'postgres', (port) =>
      startPostgres({
        folder,
        mark,
        password,
        durable: false, // these tests kill processes, but do not cut the machine's power
        maxConnections: POSTGRES_CONNECTIONS,
        sharedBuffersMib: 64,
        ...(port === undefined ? {} : { port }),
        onProblem: (line) => onProblem('postgres', line),
      }).then((engine) => ({ ...engine, port: Number(new URL(engine.url).port), url: engine.url })),
    ),
  )
  const superuserUrl = `postgres://postgres:${password}@127.0.0.1:${postgres.port}/postgres`
  const adminUrl = await createDatabase(superuserUrl, 'svc')
  const setup: StoreSetup = { adminUrl, stores: STORES, passwordOf: secretsOfServer(superuserUrl).rolePassword }
  await release.migrate(setup)

  const { natsPasswords: passwords } = deriveSecrets(randomBytes(32).toString('hex'))
  const nats = started.use(
    await superviseEngine(
      mark,
      'nats',
      (port) =>
        startNats({
          folder,
          mark,
          passwords,
          config: release.natsConfig,
          ...(port === undefined ? {} : { port }),
          onProblem: (line) => onProblem('nats', line),
        }),
      () => rmSync(join(folder, 'nats'), { recursive: true, force: true }),
    ),
  )
  const natsUrlFor = (user: NatsUser): string => `nats://${user}:${passwords[user]}@127.0.0.1:${nats.port}`

  const countOf = (service: ServiceName): number => replicas[service] ?? REPLICAS
  const httpPort = await findFreePort(countOf('gateway'))
  const authority = `127.0.0.1:${httpPort}`
  const settings: SystemSettings = {
    natsUrlFor,
    databaseUrlFor: (store) => storeUrl(setup, store),
    httpPort,
    authority,
    challengeKey: randomBytes(32).toString('hex'),
    webhookSecretKey: randomBytes(32).toString('hex'),
    env: { PATH: process.env.PATH, ...env },
  }
  const urls = Array.from({ length: countOf('gateway') }, (_, at) => `http://127.0.0.1:${httpPort + at}`)
  const names = SERVICES.flatMap((service) =>
    Array.from({ length: countOf(service) }, (_, at) => `${service}-${at + 1}`),
  )
  const supervised = new Map<string, Supervised>()
  const releases = new Map<string, Release>()
  let stopping = false
  started.defer(async () => {
    stopping = true
    for (const one of supervised.values()) one.child.kill('SIGCONT')
    await Promise.all([...supervised.values()].map(({ child }) => child.stop()))
  })

  const launch = (name: string, extra: NodeJS.ProcessEnv): void => {
    const { service, index } = parseName(name)
    const own = environmentFor(service, index, settings)
    const one: Supervised = { child: undefined as never, log: [], ready: false, nextEnv: {} }
    const onLine = (line: string): void => {
      const event = parseLogLine(line, Date.now())
      one.log.push(event)
      if (one.log.length > KEPT_LOG_LINES) one.log.shift()
      if (event.message === 'ready') one.ready = true
      if (event.level >= WARN) onProblem(name, line)
    }
    const reached = isProxied ? throughProxies(own, name, network) : own
    const { moduleOf = (service) => join(build, `${service}.js`), env: ofRelease } = releases.get(name) ?? release
    one.child = startService({
      service,
      index,
      mark,
      env: { ...reached, ...ofRelease, ...extra },
      onLine,
      module: moduleOf(service),
    })
    supervised.set(name, one)
  }
  const keepRunning = async (name: string): Promise<void> => {
    let delayMs = RESTART_MS
    let extra: NodeJS.ProcessEnv = {}
    while (!stopping) {
      const startedMs = Date.now()
      launch(name, extra)
      const one = get(name)
      await one.child.ended
      if (stopping) return
      delayMs = Date.now() - startedMs > SETTLED_MS ? RESTART_MS : Math.min(delayMs * 2, MAX_RESTART_MS)
      await sleep(delayMs)
      extra = one.nextEnv
    }
  }
  const get = (name: string): Supervised => {
    const one = supervised.get(name)
    if (one === undefined) throw new Error(`no process is called ${name}`)
    return one
  }
  const untilReady = async (name: string, timeoutMs: number = READY_LIMIT_MS): Promise<void> => {
    const isReady = (): boolean => get(name).ready && isAlive(get(name).child.pid)
    await eventually(isReady, { timeoutMs, what: `${name} being ready` }).catch((error: Error) => {
      const said = get(name).log.map(({ message }) => message)
      throw new Error(`${error.message}; it last said: ${said.slice(-LINES_IN_ERROR).join('; ') || 'nothing'}`, {
        cause: error,
      })
    })
  }
  const untilHealthy = async (timeoutMs: number): Promise<void> => {
    await Promise.all(names.map((name) => untilReady(name, timeoutMs)))
    const what = 'every gateway being healthy'
    const isHealthy = async (url: string): Promise<boolean> =>
      (await fetch(`${url}/v2/health`, { signal: AbortSignal.timeout(6_000) })).status === 200
    await Promise.all(urls.map((url) => eventually(() => isHealthy(url), { timeoutMs, what })))
  }

  for (const name of names) void keepRunning(name)
  await untilHealthy(2 * READY_LIMIT_MS)

  const running = started.move()
  return {
    urls,
    authority,
    natsUrlFor,
    adminUrl,
    roleUrl: (role) => storeUrl(setup, role),
    folder,
    names,
    pidOf: (name) => supervised.get(name)?.child.pid,
    logOf: (name) => supervised.get(name)?.log ?? [],
    async end(name, signal, nextEnv = {}) {
      const one = get(name)
      one.nextEnv = nextEnv
      one.child.kill(signal)
      return one.child.ended
    },
    setRelease: (name, next) => void releases.set(name, next),
    migrate: (next) => next.migrate(setup),
    untilReady,
    signal: sendSignal,
    network,
    postgres,
    nats,
    untilHealthy,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

/** The environment of a process that connects to engines and streams through the proxies. */
function throughProxies(own: NodeJS.ProcessEnv, name: string, { options }: Network): NodeJS.ProcessEnv {
  const { databaseUrl, natsUrl, envOf } = options
  return {
    ...own,
    ...envOf[name],
    ...(own.SVC_DATABASE_URL && { SVC_DATABASE_URL: databaseUrl(own.SVC_DATABASE_URL, name) }),
    ...(own.SVC_NATS_URL && { SVC_NATS_URL: natsUrl(own.SVC_NATS_URL, name) }),
  }
}

/** Restarts an engine on the same port whenever it ends unexpectedly. */
async function superviseEngine(
  mark: Mark,
  name: 'postgres' | 'nats',
  start: (port: number | undefined) => Promise<(Engine | NatsServer) & { readonly port: number }>,
  wipe: () => void = () => {},
): Promise<EngineControl & AsyncDisposable> {
  let engine = await start(undefined)
  const { port } = engine
  /** If true, the supervisor does not restart the engine. */
  let away = false
  let turn: Promise<unknown> = Promise.resolve()
  watch()

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const next = turn.then(work, work)
    turn = next.catch(() => {})
    return next
  }
  const begin = async (): Promise<void> => {
    engine = await start(port)
    away = false
    watch()
  }
  return {
    port,
    pids: () => pidsOf(mark, name, engine.pid),
    kill: () =>
      inTurn(async () => {
        away = true
        engine.kill('SIGKILL')
        await engine.ended
      }),
    stop: () =>
      inTurn(async () => {
        away = true
        await engine.stop()
      }),
    start: ({ wipe: wiped = false } = {}) =>
      inTurn(async () => {
        if (!away) return
        if (wiped) wipe()
        await begin()
      }),
    async [Symbol.asyncDispose]() {
      await inTurn(async () => {
        away = true
        for (const pid of pidsOf(mark, name, engine.pid)) sendSignal(pid, 'SIGCONT')
        await engine.stop()
      })
    },
  }

  function watch(): void {
    const watched = engine
    void watched.ended.then(() =>
      inTurn(async () => {
        if (away || engine !== watched) return
        await begin()
      }),
    )
  }
}

/** The pids of an engine and all of its children. Pausing Postgres has to pause the children too. */
function pidsOf(mark: Mark, name: string, pid: number | undefined): number[] {
  const others = findMarked(mark.stack, mark.run).filter((one) => one.name === `${name}-child` && one.pid !== pid)
  return [...(pid === undefined ? [] : [pid]), ...others.map((one) => one.pid)]
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // the process has just ended
  }
}

function isAlive(pid: number | undefined): boolean {
  if (pid === undefined) return false
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function parseName(name: string): { service: ServiceName; index: number } {
  const [, prefix, digits] = /^([a-z]+)-(\d+)$/.exec(name) ?? []
  const service = SERVICES.find((one) => one === prefix)
  if (service === undefined) throw new Error(`no service is called ${prefix}`)
  return { service, index: Number(digits) }
}
