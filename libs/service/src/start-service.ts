import type { ConnectionConfig } from '@svc/config/connections.ts'
import type { RunningService } from '@svc/config/run-service.ts'
import { healthOf } from '@svc/contracts/health.ts'
import { SERVICE } from '@svc/contracts/limits.ts'
import { type Bus, createBus } from '@svc/nats/bus.ts'
import { connectNats, drainNats, type Nats } from '@svc/nats/connect.ts'
import { type Endpoint, handle, serve } from '@svc/nats/serve.ts'
import { type Database, openDatabase } from '@svc/postgres/database.ts'
import { createLogger, type Logger } from '@svc/telemetry/logger.ts'
import { startProcessServer } from '@svc/telemetry/process-server.ts'
import { startTracing } from '@svc/telemetry/start-tracing.ts'
import type { Loop } from './loop.ts'
import { loopStalled } from './loop-metrics.ts'

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
  const logger = createLogger(name, config.process?.logLevel)
  const stack = new AsyncDisposableStack()
  try {
    const watched = { service: name, version: SERVICE.version, metrics: config.process?.metrics, logger }
    const server = stack.use(await startProcessServer(watched))
    stack.use(await startTracing({ ...watched, tracing: config.process?.tracing }))
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
    const stalled = (): string[] =>
      loops.filter((loop) => loop.isStalled()).map((loop) => `the loop ${loop.name} stands still`)
    stack.use(loopStalled.read(() => loops.map((loop) => [{ loop: loop.name }, loop.isStalled() ? 1 : 0])))
    const whatIsWrong = async (): Promise<string[]> => [...stalled(), ...(await missing(nats, database))]
    const health = handle(healthOf(name), async () => ({ ready: (await whatIsWrong()).length === 0 }))
    const serving = await serve({ nats, name, version: SERVICE.version, logger, endpoints: [...endpoints, health] })
    stack.defer(() => serving.drain())
    server.started({ live: stalled, ready: whatIsWrong })
    logger.info('ready')
    return {
      failed: Promise.race([
        nats.connection.closed().then((error) => error ?? new Error('the connection to NATS was closed')),
        serving.failed,
        ...loops.map((loop) => loop.failed),
      ]),
      async [Symbol.asyncDispose]() {
        logger.info('draining')
        server.draining()
        await stack.disposeAsync()
        logger.info('stopped')
      },
    }
  } catch (error) {
    await stack.disposeAsync()
    throw error
  }
}

/** What the service needs and does not have now. */
async function missing(nats: Nats, database: Database): Promise<string[]> {
  const answers = await database
    .run((sql) => sql`select 1`)
    .then(
      () => true,
      () => false,
    )
  return [...(nats.isConnected() ? [] : ['NATS is away']), ...(answers ? [] : ['the database does not answer'])]
}
