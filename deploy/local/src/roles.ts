/**
 * The least each service needs in Postgres. Two roles a service: `<service>_owner` makes and owns the tables (migrations
 * alone run as it), and `<service>` uses them: rows of its own schema's tables, and their functions. Neither can look
 * into another schema, change its tables' shape at run time, or make objects elsewhere.
 */
import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { migrate } from '@svc/postgres/migrate.ts'
import postgres from 'postgres'
import { codeOf } from './start-error.ts'
import type { StoreName } from './topology.ts'

export interface StoreSetup {
  /** Of a role that may make roles and databases; its database is where the schemas go, unless `database` names one. */
  adminUrl: string
  stores: readonly StoreName[]
  passwordOf: (role: string) => string
}

const MAX_ATTEMPTS = 20
const RETRY_MS = 200

/** Makes the roles and schemas, or brings them to this state. Safe to run again, also by several at once. */
export async function prepareRoles(setup: StoreSetup): Promise<void> {
  await using admin = openAdmin(setup.adminUrl)
  // Roles belong to the whole server and Postgres has no lock over it: who comes second is refused, and starts again.
  for (let attempt = 1; ; attempt += 1) {
    try {
      await admin.sql.begin((sql) => prepareStores(sql, quote(admin.database), setup))
      return
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !isRaceForRoles(error)) throw error
      await sleep(randomInt(RETRY_MS))
    }
  }
}

async function prepareStores(sql: postgres.TransactionSql, database: string, setup: StoreSetup): Promise<void> {
  await sql.unsafe(`revoke all on database ${database} from public`)
  await sql.unsafe('revoke all on schema public from public')
  for (const store of setup.stores) {
    const [runtime, owner] = [store, `${store}_owner`]
    for (const role of [runtime, owner]) {
      const found = await sql`select from pg_roles where rolname = ${role}`
      if (found.length === 0) await sql.unsafe(`create role ${role}`)
      // The password is hexadecimal; role options take no parameters.
      await sql.unsafe(`alter role ${role} login password '${setup.passwordOf(role)}'`)
      await sql.unsafe(`grant connect on database ${database} to ${role}`)
    }
    // A maker of roles that is no superuser must be a member to give the schema away.
    await sql.unsafe(`grant ${owner} to current_user`)
    await sql.unsafe(`create schema if not exists ${store} authorization ${owner}`)
    await sql.unsafe(`grant usage on schema ${store} to ${runtime}`)
    const defaults = `alter default privileges for role ${owner}`
    await sql.unsafe(`${defaults} revoke execute on functions from public`)
    const inSchema = `${defaults} in schema ${store} grant`
    await sql.unsafe(`${inSchema} execute on functions to ${runtime}`)
    await sql.unsafe(`${inSchema} usage on sequences to ${runtime}`)
    // TRUNCATE: identity empties the oldest partition of its nonces.
    await sql.unsafe(`${inSchema} select, insert, update, delete, truncate on tables to ${runtime}`)
  }
}

/** Unique violation, duplicate object, "tuple concurrently updated", deadlock. */
function isRaceForRoles(error: unknown): boolean {
  return ['23505', '42710', 'XX000', '40P01'].includes(codeOf(error))
}

/** Brings every store's schema up to date, as its owner. @param migrationsOf a store's folder of SQL files. */
export async function migrateStores(setup: StoreSetup & { migrationsOf: (store: StoreName) => string }): Promise<void> {
  for (const store of setup.stores) {
    await migrate({ url: storeUrl(setup, `${store}_owner`), schema: store, dir: setup.migrationsOf(store) })
  }
}

/** The admin URL with the role in place of the admin. */
export function storeUrl({ adminUrl, passwordOf }: Pick<StoreSetup, 'adminUrl' | 'passwordOf'>, role: string): string {
  const url = new URL(adminUrl)
  url.username = role
  url.password = passwordOf(role)
  return url.href
}

/** An empty database. @returns the admin's URL of it. @throws postgres's error when the name is taken. */
export async function createDatabase(adminUrl: string, name: string): Promise<string> {
  await using admin = openAdmin(adminUrl)
  await admin.sql.unsafe(`create database ${quote(name)} template template0`)
  return databaseUrl(adminUrl, name)
}

/** A copy of a database that `prepareRoles` has prepared, with the same rights. */
export async function copyDatabase(adminUrl: string, from: string, name: string): Promise<string> {
  await using admin = openAdmin(adminUrl)
  await admin.sql.unsafe(`create database ${quote(name)} template ${quote(from)}`)
  // Postgres copies everything but who may connect.
  await admin.sql.unsafe(`revoke all on database ${quote(name)} from public`)
  const roles = await admin.sql<{ name: string }[]>`
    select grantee::regrole::text as name from pg_database, aclexplode(datacl) where datname = ${from} and grantee <> datdba`
  for (const role of roles) await admin.sql.unsafe(`grant connect on database ${quote(name)} to ${role.name}`)
  return databaseUrl(adminUrl, name)
}

/** The admin's URL of another database on the server. */
export function databaseUrl(adminUrl: string, name: string): string {
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  return url.href
}

export async function databaseExists(adminUrl: string, name: string): Promise<boolean> {
  await using admin = openAdmin(adminUrl)
  return (await admin.sql`select from pg_database where datname = ${name}`).length > 0
}

/** Also ends the sessions that use it. */
export async function dropDatabase(adminUrl: string, name: string): Promise<void> {
  await using admin = openAdmin(adminUrl)
  await admin.sql.unsafe(`drop database if exists ${quote(name)} with (force)`)
}

function openAdmin(url: string): AsyncDisposable & { sql: postgres.Sql; database: string } {
  const sql = postgres(url, { max: 1, connect_timeout: 10, onnotice: () => {} })
  return { sql, database: sql.options.database, [Symbol.asyncDispose]: () => sql.end({ timeout: 5 }) }
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
