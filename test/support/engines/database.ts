import { fileURLToPath } from 'node:url'
import { createDatabase, migrateStores, prepareRoles, storeUrl } from '@svc/local/engines/roles.ts'
import { secretsOfServer } from '@svc/local/engines/secrets.ts'
import { STORES, type StoreName } from '@svc/local/topology.ts'
import { askBroker } from './engines.ts'
import type { DatabaseAnswer } from './nats/engine-broker.ts'

export interface TestDatabase extends AsyncDisposable {
  /** The URL of the superuser, to inspect the database. */
  readonly adminUrl: string
  /** The URL of a store's role, which has only the rights of the service, or of the role that owns the tables. */
  urlFor(role: StoreName | `${StoreName}_owner`): string
}

/** Creates a database for one test, with the schemas of these stores at their latest migration and no rows. */
export async function createTestDatabase(stores: readonly StoreName[]): Promise<TestDatabase> {
  return databaseOf(await askBroker<DatabaseAnswer>('POST', 'databases', stores), 'databases')
}

/**
 * Lends an empty database of messaging that an earlier test may have used, because making one takes longer than most tests. Use it
 * for tests that change only rows: no tables, functions, statistics or rights.
 */
export async function borrowDatabase(): Promise<TestDatabase> {
  return databaseOf(await askBroker<DatabaseAnswer>('POST', 'borrowed'), 'borrowed')
}

function databaseOf({ name, adminUrl, urls }: DatabaseAnswer, from: 'databases' | 'borrowed'): TestDatabase {
  return {
    adminUrl,
    urlFor(role) {
      const url = urls[role]
      if (url === undefined) throw new Error(`this database has no schema of ${role}`)
      return url
    },
    async [Symbol.asyncDispose]() {
      await askBroker('DELETE', `${from}/${name}`)
    },
  }
}

const SERVICES = new URL('../../../services/', import.meta.url)

/** Creates a database with these schemas on a server that the test started. @param serverUrl URL of the superuser. */
export async function createMigrated(
  serverUrl: string,
  name: string,
  stores: readonly StoreName[] = STORES,
): Promise<Omit<TestDatabase, keyof AsyncDisposable>> {
  const adminUrl = await createDatabase(serverUrl, name)
  const setup = { adminUrl, stores, passwordOf: secretsOfServer(adminUrl).rolePassword }
  await prepareRoles(setup)
  await migrateStores({ ...setup, schemaDirOf: (store) => fileURLToPath(new URL(`${store}/database`, SERVICES)) })
  return { adminUrl, urlFor: (role) => storeUrl(setup, role) }
}
