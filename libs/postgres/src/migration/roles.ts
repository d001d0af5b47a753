/**
 * The least privileges that each service needs in Postgres. A service has two roles. `<service>_owner` creates and owns the
 * tables; only migrations run as it. `<service>` reads and writes rows of its own schema's tables, and calls the schema's
 * functions. Neither can read another schema, or create objects elsewhere, and `<service>` cannot alter its tables.
 */
import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { driverOptions, greetingOf, parseServer } from '../connection/server.ts'
import { SESSION_SETTINGS } from '../connection/session.ts'

interface RoleSetup {
  /** The URL of a role that may create roles. The schemas go into its database. */
  adminUrl: string
  /** Names of services with a schema: only lower-case letters. */
  stores: readonly string[]
  /** Undefined: new roles cannot log in yet, and existing ones keep their passwords. */
  passwordOf?: (role: string) => string
  /**
   * The roles that a service may log in as, if not `<service>` itself. They become members of `<service>`. So two logins with
   * their own passwords work side by side while one replaces the other. Lower-case letters, digits and `_`.
   */
  loginsOf?: (store: string) => readonly string[]
  log?: (line: string) => void
}

const MAX_ATTEMPTS = 20
const RETRY_MS = 200

/** Creates the roles and schemas, or brings them to this state. Idempotent, also if several processes run it at once. */
export async function prepareRoles(setup: RoleSetup): Promise<void> {
  const server = parseServer(setup.adminUrl)
  for (const reason of server.ignored) setup.log?.(`SVC_DATABASE_URL: ${reason}`)
  const connection = greetingOf(server, 'svc-roles')
  const sql = postgres({ ...driverOptions(server), connection, max: 1, connect_timeout: 10, onnotice: () => {} })
  try {
    // Roles belong to the whole server, and Postgres has no lock for it. So the second of two processes fails, and retries.
    for (let attempt = 1; ; attempt += 1) {
      try {
        await sql.begin((tx) => prepareStores(tx, quote(sql.options.database), setup))
        return
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || !isRaceForRoles(error)) throw server.asTlsError(error)
        await sleep(randomInt(RETRY_MS))
      }
    }
  } finally {
    await sql.end({ timeout: 5 })
  }
}

async function prepareStores(sql: postgres.TransactionSql, database: string, setup: RoleSetup): Promise<void> {
  await sql.unsafe(`revoke all on database ${database} from public`)
  await sql.unsafe('revoke all on schema public from public')
  for (const store of setup.stores) {
    const owner = `${store}_owner`
    const logins = setup.loginsOf?.(store) ?? [store]
    for (const role of new Set([store, owner, ...logins])) await ensureRole(sql, role)
    if (setup.passwordOf !== undefined)
      for (const role of [owner, ...logins]) await setPassword(sql, role, setup.passwordOf(role))
    for (const login of logins) {
      // A pooler does not pass on the settings of a connection, and a login does not inherit those of a role.
      for (const [name, value] of Object.entries(SESSION_SETTINGS))
        await sql.unsafe(`alter role ${quote(login)} set ${name} to '${value}'`)
      if (login !== store) await sql.unsafe(`grant ${quote(store)} to ${quote(login)}`)
    }
    for (const role of [store, owner]) await sql.unsafe(`grant connect on database ${database} to ${quote(role)}`)
    // A role creator that is not a superuser must be a member of the owner to give the schema to it.
    await sql.unsafe(`grant ${quote(owner)} to current_user`)
    await sql.unsafe(`create schema if not exists ${quote(store)} authorization ${quote(owner)}`)
    await sql.unsafe(`grant usage on schema ${quote(store)} to ${quote(store)}`)
    const defaults = `alter default privileges for role ${quote(owner)}`
    await sql.unsafe(`${defaults} revoke execute on functions from public`)
    const inSchema = `${defaults} in schema ${quote(store)} grant`
    await sql.unsafe(`${inSchema} execute on functions to ${quote(store)}`)
    await sql.unsafe(`${inSchema} usage on sequences to ${quote(store)}`)
    // TRUNCATE: identity empties the oldest partition of its nonces.
    await sql.unsafe(`${inSchema} select, insert, update, delete, truncate on tables to ${quote(store)}`)
  }
}

async function ensureRole(sql: postgres.TransactionSql, role: string): Promise<void> {
  const found = await sql`select from pg_roles where rolname = ${role}`
  if (found.length === 0) await sql.unsafe(`create role ${quote(role)}`)
}

/** `alter role` takes no parameters, so the server itself quotes the password. */
async function setPassword(sql: postgres.TransactionSql, role: string, password: string): Promise<void> {
  const [row] = await sql<{ statement: string }[]>`
    select pg_catalog.format('alter role %I login password %L', ${role}::text, ${password}::text) as statement`
  if (row === undefined) throw new Error('no statement')
  await sql.unsafe(row.statement)
}

/** Unique violation, duplicate object, "tuple concurrently updated", deadlock. */
function isRaceForRoles(error: unknown): boolean {
  return error instanceof postgres.PostgresError && ['23505', '42710', 'XX000', '40P01'].includes(error.code)
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
