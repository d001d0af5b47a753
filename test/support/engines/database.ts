import type { StoreName } from '@svc/local/topology.ts'
import type { DatabaseAnswer } from './engine-broker.ts'
import { askBroker } from './engines.ts'

export interface TestDatabase extends AsyncDisposable {
  /** As superuser, for looking into it. */
  readonly adminUrl: string
  /** As the store's own role, with its rights alone, or as the one that owns its tables. */
  urlFor(role: StoreName | `${StoreName}_owner`): string
}

/** A database of the test's own, with the schemas of these stores at their latest migration, and no rows. */
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
