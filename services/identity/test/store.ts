import { randomBytes } from 'node:crypto'
import { type Database, openDatabase } from '@svc/postgres/database.ts'
import { createKeyPair, type KeyPair } from '@svc/svc1/key-pair.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { createTestDatabase } from '@svc/test/support/engines/database.ts'
import { insertAgent } from '../src/store/agents.ts'

export const silent = createLogger('test', 'silent')

export interface TestStore extends AsyncDisposable {
  /** Connected as the service's own role. */
  readonly database: Database
  /** A second pool, as another process would have. */
  readonly other: Database
  readonly url: string
  /** Inserts agents without the checks of registration. @returns their ids, in order. */
  addAgents(...names: string[]): Promise<string[]>
}

/** Creates the service's schema in a database for this test, with two pools on it. */
export async function openTestStore(): Promise<TestStore> {
  const stack = new AsyncDisposableStack()
  const testDatabase = stack.use(await createTestDatabase(['identity']))
  const url = testDatabase.urlFor('identity')
  const open = (): Database => stack.use(openDatabase({ url, application: 'test', logger: silent }))
  const database = open()
  return {
    database,
    other: open(),
    url,
    addAgents: (...names) =>
      Promise.all(
        names.map(async (name) => {
          const { agentId, publicKey } = createKeyPair()
          await database.transaction((tx) => insertAgent(tx, agentId, name, publicKey))
          return agentId
        }),
      ),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

export function newNonce(bytes = 16): string {
  return randomBytes(bytes).toString('hex')
}

export function newKey(): KeyPair {
  return createKeyPair()
}
