import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Child, type Ending, startChild } from './child.ts'
import { heapArgs } from './heap.ts'
import { type Mark, markOf } from './marks.ts'
import { type NatsUser, type ServiceName, STORES, type StoreName } from './topology.ts'

export interface ServiceOptions {
  service: ServiceName
  /** From 1. */
  index: number
  mark: Mark
  /** All of its environment that matters to what it does. */
  env: NodeJS.ProcessEnv
  /** Every line it prints. */
  onLine: (line: string) => void
  /** The folder of the code that it runs; this tree's where nothing is said. */
  root?: string
}

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** Compiled code that a process leaves for the next one, which starts in half the time; where it cannot be written, nothing is. */
const COMPILE_CACHE = 'node_modules/.cache/node-compile'

/** What the processes of a system are told. */
export interface SystemSettings {
  natsUrlFor(user: NatsUser): string
  databaseUrlFor(store: StoreName): string
  /** Of the first gateway; further ones follow. */
  httpPort: number
  authority: string
  challengeKey: string
  webhookSecretKey: string
  /** By process, `messaging-2`; what is not there has the port that `env` says, if any. */
  metricsPorts?: ReadonlyMap<string, number>
  /** What the person who starts it has set, which goes to every service. */
  env: NodeJS.ProcessEnv
}

/** A process's whole environment: each service gets its own credentials and no others. */
export function environmentFor(service: ServiceName, index: number, settings: SystemSettings): NodeJS.ProcessEnv {
  const store = STORES.find((one) => one === service)
  const metricsPort = settings.metricsPorts?.get(`${service}-${index}`)
  return {
    ...settings.env,
    SVC_NATS_URL: settings.natsUrlFor(service),
    SVC_DATABASE_URL: store && settings.databaseUrlFor(store),
    SVC_CHALLENGE_KEY: service === 'identity' ? settings.challengeKey : undefined,
    SVC_WEBHOOK_SECRET_KEY: service === 'webhook' ? settings.webhookSecretKey : undefined,
    // The key itself is what counts (env-reader.ts), and nobody else is told where one lies.
    SVC_CHALLENGE_KEY_FILE: undefined,
    SVC_WEBHOOK_SECRET_KEY_FILE: undefined,
    SVC_AUTHORITY: settings.authority,
    SVC_HTTP_PORT: service === 'gateway' ? String(settings.httpPort + index - 1) : undefined,
    ...(metricsPort === undefined ? {} : { SVC_METRICS_PORT: String(metricsPort) }),
  }
}

/** Starts one process of a service, `node services/<name>/src/main.ts`. */
export function startService({ service, index, mark, env, onLine, root = ROOT }: ServiceOptions): Child {
  const name = `${service}-${index}`
  const args = [`--title=${markOf(mark, name)}`, ...heapArgs(service), `services/${service}/src/main.ts`]
  return startChild({
    name,
    command: process.execPath,
    args,
    env: { NODE_COMPILE_CACHE: join(root, COMPILE_CACHE), ...env },
    cwd: root,
    onLine,
  })
}

export interface SupervisorOptions extends ServiceOptions {
  /** It ended by itself, for the `failures`th time in a row, and starts again after the delay. */
  onRestart: (ending: Ending, delayMs: number, failures: number) => void
}

export interface Supervisor {
  /** Ends it at once, for good. */
  kill(): void
  stop(): Promise<void>
}

const FIRST_DELAY_MS = 200
const MAX_DELAY_MS = 10_000
/** Who lived this long has started well, and its next delay is the first again. */
const SETTLED_MS = 10_000

/** Keeps one process of a service running: one that ends is started again, after a delay that doubles. */
export function superviseService(options: SupervisorOptions): Supervisor {
  const stopped = Promise.withResolvers<void>()
  let stopping = false
  let current = startService(options)
  const done = keepRunning()

  return {
    kill() {
      stopping = true
      stopped.resolve()
      current.kill('SIGKILL')
    },
    async stop() {
      stopping = true
      stopped.resolve()
      await current.stop()
      await done
    },
  }

  async function keepRunning(): Promise<void> {
    let failures = 0
    for (;;) {
      const startedMs = Date.now()
      const ending = await current.ended
      if (stopping) return
      failures = Date.now() - startedMs > SETTLED_MS ? 1 : failures + 1
      const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (failures - 1), MAX_DELAY_MS)
      options.onRestart(ending, delayMs, failures)
      await delay(delayMs, stopped.promise)
      if (stopping) return
      current = startService(options)
    }
  }
}

async function delay(ms: number, interrupted: Promise<void>): Promise<void> {
  const over = Promise.withResolvers<void>()
  const timer = setTimeout(over.resolve, ms)
  await Promise.race([over.promise, interrupted])
  clearTimeout(timer)
}
