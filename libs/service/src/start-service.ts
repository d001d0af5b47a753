import type { ConnectionConfig } from '@svc/config/connections.ts'
import type { RunningService } from '@svc/config/run-service.ts'
import { healthOf } from '@svc/contracts/health.ts'
import { SERVICE } from '@svc/contracts/limits.ts'
import { type Bus, createBus } from '@svc/nats/bus.ts'
import { connectNats, drainNats, type Nats } from '@svc/nats/connect.ts'
import { type Endpoint, handle, serve } from '@svc/nats/serve.ts'
import { type Database, openDatabase } from '@svc/postgres/database.ts'
import { createLogger, type Logger } from '@svc/telemetry/logger.ts'
import type { Loop } from './loop.ts'

/** What every service works with; each adds its own. */
export interface ServiceDeps {
  readonly logger: Logger
  readonly database: Database
  readonly nats: Nats
  /** Calls to the services that this one depends on. */
  readonly bus: Bus
}

export interface ServiceParts {
  /** The calls that this service answers. */
  endpoints: Endpoint[]
  loops: Loop[]
  /** What else it runs, e.g. a server of its own: stopped in the opposite order, behind the calls and before the loops. */
  resources?: AsyncDisposable[]
}

export interface ServiceOptions {
  /** Also its queue group, its schema and its role. */
  name: string
  config: ConnectionConfig & { poolSize?: number }
  /** Builds what is particular to the service, before it takes its first call. */
  build: (deps: ServiceDeps) => Promise<ServiceParts> | ServiceParts
}

/**
 * Starts a service with a store: database, NATS, loops, calls, in this order. On the way out: stop taking, finish what
 * was taken, stop the loops, drain NATS, close the pool (design.md, Failing).
 */
export async function startService({ name, config, build }: ServiceOptions): Promise<RunningService> {
  const logger = createLogger(name)
  const stack = new AsyncDisposableStack()
  try {
    const database = stack.use(
      openDatabase({
        url: config.databaseUrl,
        application: `svc-${name}`,
        logger,
        ...(config.poolSize === undefined ? {} : { poolSize: config.poolSize }),
      }),
    )
    const nats = stack.adopt(await connectNats({ url: config.natsUrl, name: `svc-${name}`, logger }), drainNats)
    const bus = stack.use(createBus(nats))
    const { endpoints, loops, resources = [] } = await build({ logger, database, nats, bus })
    for (const loop of loops) stack.use(loop)
    for (const resource of resources) stack.use(resource)
    const health = handle(healthOf(name), async () => ({ ready: await isReady(database, loops) }))
    const serving = await serve({ nats, name, version: SERVICE.version, logger, endpoints: [...endpoints, health] })
    stack.defer(() => serving.drain())
    logger.info('ready')
    return {
      failed: nats.connection.closed().then((error) => error ?? new Error('the connection to NATS was closed')),
      async [Symbol.asyncDispose]() {
        logger.info('draining')
        await stack.disposeAsync()
        logger.info('stopped')
      },
    }
  } catch (error) {
    await stack.disposeAsync()
    throw error
  }
}

async function isReady(database: Database, loops: Loop[]): Promise<boolean> {
  if (loops.some((loop) => loop.isStalled())) return false
  try {
    await database.run((sql) => sql`select 1`)
    return true
  } catch {
    return false
  }
}
