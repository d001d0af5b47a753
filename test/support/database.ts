import type { StoreName } from '@svc/local/topology.ts'
import type { DatabaseAnswer } from './engine-broker.ts'
import { askBroker } from './engines.ts'

export interface TestDatabase extends AsyncDisposable {
  /** As superuser, for looking into it. */
  readonly adminUrl: string
  /** As the store's own role, with its rights alone. */
  urlFor(store: StoreName): string
}

/** A database of the test's own, with the schemas of these stores at their latest migration, and no rows. */
export async function createTestDatabase(stores: readonly StoreName[]): Promise<TestDatabase> {
  const { name, adminUrl, urls } = await askBroker<DatabaseAnswer>('POST', 'databases', stores)
  return {
    adminUrl,
    urlFor(store) {
      const url = urls[store]
      if (url === undefined) throw new Error(`this database has no schema ${store}`)
      return url
    },
    async [Symbol.asyncDispose]() {
      await askBroker('DELETE', `databases/${name}`)
    },
  }
}
