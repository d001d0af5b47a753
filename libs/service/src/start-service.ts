import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { ConnectionConfig } from '@svc/config/connections.ts'
import { healthOf } from '@svc/contracts/health.ts'
import { SERVICE } from '@svc/contracts/limits.ts'
import type { Bus } from '@svc/nats/bus.ts'
import type { Nats } from '@svc/nats/connect.ts'
import { type Endpoint, handle, serve } from '@svc/nats/serve.ts'
import { type Database, openDatabase } from '@svc/postgres/database.ts'
import { findMissing } from '@svc/postgres/migration/migrated.ts'
import { readSchemaFiles } from '@svc/postgres/migration/schema-files.ts'
import { createLogger, type Logger } from '@svc/telemetry/logger.ts'
import { databaseClockOffset } from './clock-metrics.ts'
import type { Loop } from './loop.ts'
import { loopStalled } from './loop-metrics.ts'
import type { RunningService } from './run-service.ts'
import { startProcess } from './start-process.ts'

/** Dependencies that every service has. Each service adds its own. */
interface ServiceDeps {
  readonly logger: Logger
  readonly database: Database
  readonly nats: Nats
  /** For calls to the services that this one depends on. */
  readonly bus: Bus
}

interface ServiceParts {
  /** The calls that this service answers. */
  endpoints: Endpoint[]
  loops: Loop[]
  /** Anything else that the service runs, e.g. a server. Stopped in reverse order, after the calls and before the loops. */
  resources?: AsyncDisposable[]
}

interface ServiceOptions {
  /** The name of the service, and also of its queue group, its schema and its role. */
  name: string
  config: ConnectionConfig & { poolSize?: number }
  /**
   * The service's folder `database`. The schema must contain all of it before the service takes a call; a later release may
   * have added more.
   */
  schemaDir: URL
  /** Builds the service's own parts, before the service takes its first call. */
  build: (deps: ServiceDeps) => Promise<ServiceParts> | ServiceParts
}

const SCHEMA_POLL_MS = 250

/**
 * Starts a service with a store. Its parts: database, schema, loops, calls, in this order. On shutdown it stops taking calls, finishes
 * the calls in progress, stops the loops and closes the pool.
 */
export function startService({ name, config, schemaDir, build }: ServiceOptions): Promise<RunningService> {
  const logger = createLogger(name, config.process?.logLevel)
  return startProcess({
    name,
    config,
    logger,
    async start({ nats, bus, stack }) {
      const database = stack.use(
        openDatabase({
          url: config.databaseUrl,
          urlFile: config.databaseUrlFile,
          application: `svc-${name}`,
          logger,
          ...(config.poolSize === undefined ? {} : { poolSize: config.poolSize }),
        }),
      )
      await untilMigrated(database, name, schemaDir, logger)
      const { endpoints, loops, resources = [] } = await build({ logger, database, nats, bus })
      for (const loop of loops) stack.use(loop)
      for (const resource of resources) stack.use(resource)
      const live = (): string[] =>
        loops.filter((loop) => loop.isStalled()).map((loop) => `the loop ${loop.name} is stalled`)
      stack.use(loopStalled.read(() => loops.map((loop) => [{ loop: loop.name }, loop.isStalled() ? 1 : 0])))
      stack.use(databaseClockOffset.read(async () => [[{}, await clockOffsetSeconds(database)]]))
      const ready = async (): Promise<string[]> => [...live(), ...(await missing(nats, database))]
      const health = handle(healthOf(name), async () => ({ ready: (await ready()).length === 0 }))
      const serving = await serve({ nats, name, version: SERVICE.version, logger, endpoints: [...endpoints, health] })
      stack.defer(() => serving.drain())
      return { live, ready, failed: [serving.failed, ...loops.map((loop) => loop.failed)] }
    },
  })
}

/**
 * Waits for the schema. Until the migration is complete, a process that starts gets no work from NATS and its readiness
 * probe fails, so the previous release continues to work (docs/operating/upgrade.md).
 */
async function untilMigrated(database: Database, schema: string, dir: URL, logger: Logger): Promise<void> {
  const files = readSchemaFiles(fileURLToPath(dir), schema)
  for (let said: string | undefined; ; await sleep(SCHEMA_POLL_MS)) {
    const lacking = await database
      .run((sql) => findMissing(sql, schema, files))
      .then(
        (what) => what && `the schema lacks ${what}`,
        (error: unknown) => `the schema cannot be read: ${reasonOf(error)}`,
      )
    if (lacking === undefined) return
    if (lacking !== said) logger.warn(`${lacking}; waiting`)
    said = lacking
  }
}

/** An unavailable database says why in the cause: the server's refusal of a login, a setting or a database, or a failed connection. */
function reasonOf(error: unknown): string {
  const reason = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return reason instanceof Error ? reason.message : String(reason)
}

/** How far the clock of the database is ahead of this process's clock, to within half of the round trip. */
async function clockOffsetSeconds(database: Database): Promise<number> {
  const sentMs = Date.now()
  const [row] = await database.run(
    (sql) => sql<{ ms: number }[]>`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`,
  )
  return ((row?.ms ?? Number.NaN) - (sentMs + Date.now()) / 2) / 1_000
}

/** The dependencies that are currently down. */
async function missing(nats: Nats, database: Database): Promise<string[]> {
  const answers = await database
    .run((sql) => sql`select 1`)
    .then(
      () => true,
      () => false,
    )
  return [
    ...(nats.isConnected() ? [] : ['NATS is not connected']),
    ...(answers ? [] : ['the database does not answer']),
  ]
}
