import type { StoreName } from '@svc/local/topology.ts'
import type { DatabaseAnswer } from './engine-broker.ts'
import { askBroker } from './engines.ts'

export interface TestDatabase extends AsyncDisposable {
  /** The URL of the superuser, to inspect the database. */
  readonly adminUrl: string
  /** The URL of a store's role, which has only the rights of the service, or of the role that owns the tables. */
  urlFor(role: StoreName | `${StoreName}_owner`): string
}

/** Creates a database for one test, with the schemas of these stores at their latest migration and no rows. */
export async function createTestDatabase(stores: readonly StoreName[]): Promise<TestDatabase> {
  const { name, adminUrl, urls } = await askBroker<DatabaseAnswer>('POST', 'databases', stores)
  return {
    adminUrl,
    urlFor(role) {
      const url = urls[role]
      if (url === undefined) throw new Error(`this database has no schema of ${role}`)
      return url
    },
    async [Symbol.asyncDispose]() {
      await askBroker('DELETE', `databases/${name}`)
    },
  }
}
