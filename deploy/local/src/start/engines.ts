/** The first steps of a start: Postgres with its schemas, then NATS. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseDatabaseUrl } from '@svc/config/database-url.ts'
import { OldLayoutError } from '@svc/postgres/migration/migrate.ts'
import { UnfinishedRestoreError } from '@svc/postgres/migration/restoring.ts'
import type { Child } from '@svc/processes/child.ts'
import { checkNats } from '../engines/check-nats.ts'
import { startNats } from '../engines/nats.ts'
import { startPostgres } from '../engines/postgres.ts'
import { createDatabase, databaseExists, databaseUrl, migrateStores, prepareRoles, storeUrl } from '../engines/roles.ts'
import { secretsOfServer } from '../engines/secrets.ts'
import { codeOf, StartError } from '../start-error.ts'
import { type NatsUser, STORES, type StoreName } from '../topology.ts'
import { type Run, WARN } from './run.ts'

const DATABASE = 'svc'
const SHARED_BUFFERS_MIB = 128
/** Reserved for migrations and for manual inspection. */
const SPARE_CONNECTIONS = 30

/** Starts Postgres if needed, and migrates every schema. @returns a function from a store to its service's database URL. */
export async function startDatabase(run: Run): Promise<(store: StoreName) => string> {
  const { config, secrets, signal, started } = run
  const external = config.databaseUrl
  const adminUrl = external ?? (await startEmbeddedPostgres(run))
  signal.throwIfAborted()
  if (external === undefined) started.defer(writeForOperator(config.dataDir, 'admin-database-url', adminUrl))
  if (config.part === 'engines') return () => adminUrl
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

export async function startMessageBus(run: Run): Promise<(user: NatsUser) => string> {
  const { config, mark, secrets, started } = run
  const { natsUrl } = config
  if (natsUrl !== undefined) {
    await checkNats({ natsUrl, natsAccess: config.natsAccess })
    return () => natsUrl
  }
  const nats = await startNats({
    folder: config.dataDir,
    mark,
    passwords: secrets.natsPasswords,
    onProblem: (line) => run.log('nats', { timeMs: Date.now(), level: WARN, message: line, fields: {} }),
  })
  adopt(run, 'NATS', nats, 'SIGKILL')
  run.signal.throwIfAborted()
  started.defer(writeForOperator(config.dataDir, 'admin-nats-url', nats.urlFor('admin')))
  return (user) => nats.urlFor(user)
}

/** The operator's commands read URLs from these files while the stack runs (clients/cli). @returns a function that removes it. */
function writeForOperator(folder: string, name: string, url: string): () => void {
  const file = join(folder, name)
  writeFileSync(file, url, { mode: 0o600 })
  return () => rmSync(file, { force: true })
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

function schemaDirOf(store: StoreName): string {
  return fileURLToPath(new URL(`../../../../services/${store}/database`, import.meta.url))
}

function explainDatabaseError(error: unknown, adminUrl: string, external: boolean, dataDir: string): unknown {
  if (error instanceof UnfinishedRestoreError) {
    return new StartError(
      `${external ? 'The database in SVC_DATABASE_URL' : dataDir} has only a part of a backup, because a restore was interrupted: repeat it (npx pnpm start --engines-only, svc admin restore), or ${external ? 'name an empty database' : 'delete this folder'}.`,
    )
  }
  if (error instanceof OldLayoutError) {
    return new StartError(
      external
        ? 'The database in SVC_DATABASE_URL has the tables of an earlier version, which cannot be upgraded: name an empty database.'
        : `${dataDir} has the data of an earlier version, which cannot be upgraded: delete this folder, or set SVC_DATA_DIR to another one.`,
    )
  }
  const code = codeOf(error)
  if (external && /^(E[A-Z]+|CONNECT_TIMEOUT|CONNECTION_.*)$/.test(code)) {
    return new StartError(
      `Postgres at ${parseDatabaseUrl(adminUrl).server} (SVC_DATABASE_URL) does not answer (${code}).`,
    )
  }
  if (code !== '28P01') return error
  return external
    ? new StartError('Postgres refuses the user or password in SVC_DATABASE_URL.')
    : new StartError(
        `${join(dataDir, 'secret.key')} is not the key that this data was made with: put the original file back.`,
      )
}
