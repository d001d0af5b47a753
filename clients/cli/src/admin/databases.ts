/** The database of the operator's commands that copy it, and the SQL of the services. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BackupError } from '@svc/backup/backup-error.ts'
import { readDirectDatabaseUrl } from '@svc/config/connections.ts'
import { parseDatabaseUrl } from '@svc/config/database-url.ts'
import { envReader } from '@svc/config/env-reader.ts'
import { TlsError } from '@svc/tls/failure.ts'
import { type Io, UsageError } from '../io.ts'
import { OperatorNetworkError } from './operator-network-error.ts'

const SERVICES = new URL('../../../../services/', import.meta.url)

/** The services with a schema, and the folder with the SQL of each. */
export function findStores(): ReadonlyMap<string, string> {
  const folder = fileURLToPath(SERVICES)
  const found = readdirSync(folder)
    .map((name) => [name, join(folder, name, 'database')] as const)
    .filter(([, dir]) => existsSync(dir))
  return new Map(found.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** @throws UsageError if no URL is given, or if it is invalid. */
export function findAdminUrl({ env }: Pick<Io, 'env'>, option: string | undefined): string {
  const reader = envReader(option === undefined ? env : { SVC_DATABASE_URL: option })
  const isSet = ['SVC_DATABASE_URL', 'SVC_DATABASE_URL_FILE'].some((name) => reader.optional(name) !== undefined)
  const url = isSet ? readDirectDatabaseUrl(reader) : readLocalUrl(env)
  try {
    reader.check()
  } catch (cause) {
    throw new UsageError((cause as Error).message, { cause })
  }
  return url
}

function readLocalUrl(env: Io['env']): string {
  const file = join(env.SVC_DATA_DIR || '.data', 'admin-database-url')
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    throw new UsageError(
      `no database: use --database-url or SVC_DATABASE_URL; no local stack runs here (${file} does not exist)`,
      { cause },
    )
  }
}

const ANSWERS: Readonly<Record<string, string>> = {
  '28P01': 'refuses this login',
  '28000': 'refuses this login',
  '3D000': 'has no such database: create it first',
}

/** Does the work, and says what is the matter with the database if it fails. */
export async function withDatabase<T>(url: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw explain(error, parseDatabaseUrl(url).server)
  }
}

function explain(error: unknown, server: string): unknown {
  if (error instanceof TlsError) return new OperatorNetworkError(error.message, { cause: error })
  if (!(error instanceof Error)) return error
  const code = 'code' in error ? String(error.code) : ''
  const answer = ANSWERS[code]
  if (answer !== undefined) return new OperatorNetworkError(`Postgres at ${server} ${answer}`, { cause: error })
  if (code === '42501') return new BackupError(`this login may not do that: ${error.message}`, { cause: error })
  if (/^(53100|58030)$/.test(code))
    return new BackupError(`Postgres at ${server} cannot write: ${error.message}`, { cause: error })
  // The driver has no code for a connection that ends.
  if (/^(E[A-Z]{4,}|57P0\d|08\w{3})$/.test(code) || /^(Connection terminated|timeout expired)/.test(error.message))
    return new OperatorNetworkError(`Postgres at ${server} does not answer (${code || error.message})`, {
      cause: error,
    })
  return error
}
