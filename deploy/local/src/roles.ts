/**
 * The least each service needs in Postgres. Two roles a service: `<service>_owner` makes and owns the tables (migrations
 * alone run as it), and `<service>` uses them: rows of its own schema's tables, and their functions. Neither can look
 * into another schema, change its tables' shape at run time, or make objects elsewhere.
 */
import { migrate } from '@svc/postgres/migrate.ts'
import postgres from 'postgres'
import type { StoreName } from './topology.ts'

export interface StoreSetup {
  /** Of a role that may make roles and databases; its database is where the schemas go, unless `database` names one. */
  adminUrl: string
  stores: readonly StoreName[]
  passwordOf: (role: string) => string
}

/** `prepareStores` by several at once: roles belong to the whole server, and so does this lock. */
const LOCK = 'svc.roles'

/** Makes the roles and schemas, or brings them to this state. Safe to run again, also by several at once. */
export async function prepareRoles({ adminUrl, stores, passwordOf }: StoreSetup): Promise<void> {
  await using admin = openAdmin(adminUrl)
  await admin.sql.begin(async (sql) => {
    await sql`select pg_advisory_xact_lock(hashtextextended(${LOCK}, 0))`
    await sql`revoke all on schema public from public`
    for (const store of stores) {
      const [runtime, owner] = [store, `${store}_owner`]
      for (const role of [runtime, owner]) {
        const found = await sql`select from pg_roles where rolname = ${role}`
        if (found.length === 0) await sql.unsafe(`create role ${role}`)
        // The password is hexadecimal; role options take no parameters.
        await sql.unsafe(`alter role ${role} login password '${passwordOf(role)}'`)
        await sql.unsafe(`grant connect on database ${quote(admin.database)} to ${role}`)
      }
      // A maker of roles that is no superuser must be a member to give the schema away.
      await sql.unsafe(`grant ${owner} to current_user`)
      await sql.unsafe(`create schema if not exists ${store} authorization ${owner}`)
      await sql.unsafe(`grant usage on schema ${store} to ${runtime}`)
      const defaults = `alter default privileges for role ${owner}`
      await sql.unsafe(`${defaults} revoke execute on functions from public`)
      await sql.unsafe(`${defaults} in schema ${store} grant execute on functions to ${runtime}`)
      // TRUNCATE: identity empties the oldest partition of its nonces.
      await sql.unsafe(
        `${defaults} in schema ${store} grant select, insert, update, delete, truncate on tables to ${runtime}`,
      )
      await sql.unsafe(`${defaults} in schema ${store} grant usage on sequences to ${runtime}`)
    }
    await sql.unsafe(`revoke all on database ${quote(admin.database)} from public`)
  })
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

/** @throws postgres's error when the name is taken. */
export async function createDatabase(adminUrl: string, name: string, template = 'template0'): Promise<string> {
  await using admin = openAdmin(adminUrl)
  await admin.sql.unsafe(`create database ${quote(name)} template ${quote(template)}`)
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
