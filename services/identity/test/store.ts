import { randomBytes } from 'node:crypto'
import { type Database, openDatabase } from '@svc/postgres/database.ts'
import { createKeyPair, type KeyPair } from '@svc/svc1/key-pair.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { createTestDatabase } from '@svc/test/support/database.ts'
import { insertAgent } from '../src/store/agents.ts'

export const silent = createLogger('test', 'silent')

export interface TestStore extends AsyncDisposable {
  /** As the service's own role. */
  readonly database: Database
  /** As another process would have it. */
  readonly other: Database
  readonly url: string
  /** Puts agents there, past all checks of registration. @returns their ids, in order. */
  addAgents(...names: string[]): Promise<string[]>
}

/** The service's schema in a database of the test's own, and two pools on it. */
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
