/** The databases of the local stack and of tests, and their roles (libs/postgres, roles.ts). */
import { changeDatabaseUrl } from '@svc/config/database-url.ts'
import { driverOptions, parseServer } from '@svc/postgres/connection/server.ts'
import { migrate } from '@svc/postgres/migration/migrate.ts'
import postgres from 'postgres'
import type { StoreName } from '../topology.ts'

export { prepareRoles } from '@svc/postgres/migration/roles.ts'

export interface StoreSetup {
  /** The URL of a role that may create roles and databases. The schemas are created in the database of this URL. */
  adminUrl: string
  stores: readonly StoreName[]
  passwordOf: (role: string) => string
}

/** Migrates every store's schema as its owner. @param schemaDirOf returns a store's folder `database`. */
export async function migrateStores(setup: StoreSetup & { schemaDirOf: (store: StoreName) => string }): Promise<void> {
  for (const store of setup.stores) {
    await migrate({ url: storeUrl(setup, `${store}_owner`), schema: store, dir: setup.schemaDirOf(store) })
  }
}

/** The admin URL with another role's name and password. */
export function storeUrl({ adminUrl, passwordOf }: Pick<StoreSetup, 'adminUrl' | 'passwordOf'>, role: string): string {
  return changeDatabaseUrl(adminUrl, { user: role, password: passwordOf(role) })
}

/** Creates an empty database. @returns the admin's URL for it. @throws Postgres's error if the name is taken. */
export async function createDatabase(adminUrl: string, name: string): Promise<string> {
  await using admin = openAdmin(adminUrl)
  await admin.sql.unsafe(`create database ${quote(name)} template template0`)
  return databaseUrl(adminUrl, name)
}

/** Copies a database that `prepareRoles` has prepared, with its rights. */
export async function copyDatabase(adminUrl: string, from: string, name: string): Promise<string> {
  await using admin = openAdmin(adminUrl)
  // Copying files takes half the time of copying pages through the log, if fsync is off (measured once, no command prints it).
  await admin.sql.unsafe(`create database ${quote(name)} template ${quote(from)} strategy file_copy`)
  // Postgres copies everything except the rights to connect.
  await admin.sql.unsafe(`revoke all on database ${quote(name)} from public`)
  const roles = await admin.sql<{ name: string }[]>`
    select grantee::regrole::text as name from pg_database, aclexplode(datacl) where datname = ${from} and grantee <> datdba`
  for (const role of roles) await admin.sql.unsafe(`grant connect on database ${quote(name)} to ${role.name}`)
  return databaseUrl(adminUrl, name)
}

/** The admin's URL of another database on this server. */
export function databaseUrl(adminUrl: string, name: string): string {
  return changeDatabaseUrl(adminUrl, { database: name })
}

export async function databaseExists(adminUrl: string, name: string): Promise<boolean> {
  await using admin = openAdmin(adminUrl)
  return (await admin.sql`select from pg_database where datname = ${name}`).length > 0
}

/** Drops a database, and ends the sessions that use it. */
export async function dropDatabase(adminUrl: string, name: string): Promise<void> {
  await using admin = openAdmin(adminUrl)
  await admin.sql.unsafe(`drop database if exists ${quote(name)} with (force)`)
}

function openAdmin(url: string): AsyncDisposable & { sql: postgres.Sql; database: string } {
  // The driver itself cannot read an IPv6 address in a URL.
  const sql = postgres({ ...driverOptions(parseServer(url)), max: 1, connect_timeout: 10, onnotice: () => {} })
  return { sql, database: sql.options.database, [Symbol.asyncDispose]: () => sql.end({ timeout: 5 }) }
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
