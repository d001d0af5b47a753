import { type Child, type Ending, startChild } from '@svc/processes/child.ts'
import { type Mark, markOf } from '@svc/processes/marks.ts'
import { LOOPBACK } from './engines/loopback.ts'
import { type NatsUser, type ServiceName, STORES, type StoreName } from './topology.ts'

export interface ServiceOptions {
  service: ServiceName
  /** Starts at 1. */
  index: number
  mark: Mark
  /** The part of the process's environment that affects its behaviour. */
  env: NodeJS.ProcessEnv
  /** Called with every line that the process prints. */
  onLine: (line: string) => void
  /** The module to run, such as `messaging.js` of a build. */
  module: string
}

/** Settings that all processes of a system get. */
export interface SystemSettings {
  natsUrlFor(user: NatsUser): string
  databaseUrlFor(store: StoreName): string
  /** Port of the first gateway. The next ports are those of further gateways. */
  httpPort: number
  authority: string
  challengeKey: string
  webhookSecretKey: string
  /** Metrics port by process, e.g. `messaging-2`. Other processes have the port in `env`, if any. */
  metricsPorts?: ReadonlyMap<string, number>
  /** Variables of the user who starts the stack. Every service gets them. */
  env: NodeJS.ProcessEnv
}

/** The whole environment of a process. Each service gets only its own credentials. */
export function environmentFor(service: ServiceName, index: number, settings: SystemSettings): NodeJS.ProcessEnv {
  const store = STORES.find((one) => one === service)
  const metricsPort = settings.metricsPorts?.get(`${service}-${index}`)
  return {
    SVC_HTTP_HOST: LOOPBACK,
    SVC_METRICS_HOST: LOOPBACK,
    SVC_STREAM_HOST: LOOPBACK,
    ...settings.env,
    SVC_NATS_URL: settings.natsUrlFor(service),
    SVC_DATABASE_URL: store && settings.databaseUrlFor(store),
    SVC_CHALLENGE_KEY: service === 'identity' ? settings.challengeKey : undefined,
    SVC_WEBHOOK_SECRET_KEY: service === 'webhook' ? settings.webhookSecretKey : undefined,
    // The key itself overrides the file (env-reader.ts), and other services must not learn the file's path.
    SVC_CHALLENGE_KEY_FILE: undefined,
    SVC_WEBHOOK_SECRET_KEY_FILE: undefined,
    SVC_AUTHORITY: settings.authority,
    SVC_HTTP_PORT: service === 'gateway' ? String(settings.httpPort + index - 1) : undefined,
    ...(metricsPort === undefined ? {} : { SVC_METRICS_PORT: String(metricsPort) }),
  }
}

/** Several services share one machine here: fewer threads and heaps of each save about 5 MiB in each process. */
const ARGUMENTS = ['--v8-pool-size=1']
const ENVIRONMENT = { MALLOC_ARENA_MAX: '1' }

/** Starts one process of a service. */
export function startService({ service, index, mark, env, onLine, module }: ServiceOptions): Child {
  const name = `${service}-${index}`
  const args = [`--title=${markOf(mark, name)}`, ...ARGUMENTS, module]
  return startChild({ name, command: process.execPath, args, env: { ...ENVIRONMENT, ...env }, onLine })
}

interface SupervisorOptions extends ServiceOptions {
  /** Called when the process ended by itself, for the `failures`th time in a row. It restarts after the delay. */
  onRestart: (ending: Ending, delayMs: number, failures: number) => void
}

interface Supervisor {
  /** Kills the process, without a restart. */
  kill(): void
  stop(): Promise<void>
}

const FIRST_DELAY_MS = 200
const MAX_DELAY_MS = 10_000
/** After this uptime a start counts as successful, and the delay is reset to its first value. */
const SETTLED_MS = 10_000

/** Keeps one process of a service running. A process that ends is restarted with exponential backoff. */
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
