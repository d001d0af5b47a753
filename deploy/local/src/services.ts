import { fileURLToPath } from 'node:url'
import { type Child, type Ending, startChild } from './child.ts'
import { type Mark, markOf } from './marks.ts'
import { type ServiceName, STORES, type StoreName } from './topology.ts'

export interface ServiceOptions {
  service: ServiceName
  /** From 1. */
  index: number
  mark: Mark
  /** All of its environment. */
  env: NodeJS.ProcessEnv
  /** Every line it prints. */
  onLine: (line: string) => void
}

export interface ServiceProcess extends Child {
  /** Settles when it said that it is ready, or has ended before. */
  readonly ready: Promise<boolean>
}

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** What the processes of a system are told. */
export interface SystemSettings {
  natsUrlFor(service: ServiceName): string
  databaseUrlFor(store: StoreName): string
  /** Of the first gateway; further ones follow. */
  httpPort: number
  authority: string
  challengeKey: string
  /** What the person who starts it has set, which goes to every service. */
  env: NodeJS.ProcessEnv
}

/** A process's whole environment: each service gets its own credentials and no others. */
export function environmentFor(service: ServiceName, index: number, settings: SystemSettings): NodeJS.ProcessEnv {
  const store = STORES.find((one) => one === service)
  return {
    ...settings.env,
    SVC_NATS_URL: settings.natsUrlFor(service),
    SVC_DATABASE_URL: store && settings.databaseUrlFor(store),
    SVC_CHALLENGE_KEY: service === 'identity' ? settings.challengeKey : undefined,
    SVC_AUTHORITY: settings.authority,
    SVC_HTTP_PORT: service === 'gateway' ? String(settings.httpPort + index - 1) : undefined,
  }
}

/** Starts one process of a service, `node services/<name>/src/main.ts`. */
export function startServiceProcess({ service, index, mark, env, onLine }: ServiceOptions): ServiceProcess {
  const name = `${service}-${index}`
  const ready = Promise.withResolvers<boolean>()
  const child = startChild({
    name,
    command: process.execPath,
    args: [`--title=${markOf(mark, name)}`, `services/${service}/src/main.ts`],
    env,
    cwd: ROOT,
    onLine: (line) => {
      if (READY.test(line)) ready.resolve(true)
      onLine(line)
    },
  })
  void child.ended.then(() => ready.resolve(false))
  return { ...child, ready: ready.promise }
}

/** Every service logs this when it takes its first call. */
const READY = /"msg":"ready"/

export interface SupervisorOptions extends ServiceOptions {
  /** It ended by itself and starts again after the delay. */
  onRestart: (ending: Ending, delayMs: number) => void
}

export interface Supervisor {
  readonly name: string
  readonly pid: number | undefined
  /** Settles when the process is ready for the first time; false when it ended `MAX_FAILED_STARTS` times before. */
  readonly ready: Promise<boolean>
  kill(signal: NodeJS.Signals): void
  stop(): Promise<void>
}

const FIRST_DELAY_MS = 200
const MAX_DELAY_MS = 10_000
/** Who lived this long has started well, and its next delay is the first again. */
const SETTLED_MS = 10_000
const MAX_FAILED_STARTS = 3

/** Keeps one process of a service running: one that ends is started again, after a delay that doubles. */
export function superviseService(options: SupervisorOptions): Supervisor {
  const ready = Promise.withResolvers<boolean>()
  const stopped = Promise.withResolvers<void>()
  let stopping = false
  let current = startServiceProcess(options)
  const done = keepRunning().finally(() => ready.resolve(false))

  return {
    name: current.name,
    get pid() {
      return current.pid
    },
    ready: ready.promise,
    kill: (signal) => current.kill(signal),
    async stop() {
      stopping = true
      stopped.resolve()
      await current.stop()
      await done
    },
  }

  async function keepRunning(): Promise<void> {
    let failures = 0
    let everReady = false
    for (;;) {
      const startedMs = Date.now()
      if (await current.ready) {
        everReady = true
        ready.resolve(true)
      }
      const ending = await current.ended
      if (Date.now() - startedMs > SETTLED_MS) failures = 0
      failures += 1
      if (stopping || (!everReady && failures >= MAX_FAILED_STARTS)) return
      const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (failures - 1), MAX_DELAY_MS)
      options.onRestart(ending, delayMs)
      await delay(delayMs, stopped.promise)
      if (stopping) return
      current = startServiceProcess(options)
    }
  }
}

async function delay(ms: number, interrupted: Promise<void>): Promise<void> {
  const over = Promise.withResolvers<void>()
  const timer = setTimeout(over.resolve, ms)
  await Promise.race([over.promise, interrupted])
  clearTimeout(timer)
}
