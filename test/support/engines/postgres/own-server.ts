/** A Postgres server for one service alone (docs/operating/scale.md, *Give a service its own database*). */
import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { startPostgres } from '@svc/local/engines/postgres.ts'
import type { StoreName } from '@svc/local/topology.ts'
import { createMigrated, type TestDatabase } from '../database.ts'
import { findTestRun, takePorts } from '../engines.ts'

/** Starts a server whose only schema is that of `store`, migrated and without rows. The server ends with the database. */
export async function startOwnServer(store: StoreName): Promise<TestDatabase> {
  const { folder: runFolder, mark } = await findTestRun()
  const folder = join(runFolder, `own-${store}-${randomBytes(6).toString('hex')}`)
  mkdirSync(folder)
  const engine = await startPostgres({
    folder,
    port: await takePorts(),
    mark,
    password: randomBytes(16).toString('hex'),
    durable: false,
    maxConnections: 50,
    sharedBuffersMib: 16,
    onProblem: () => {},
  })
  return {
    ...(await createMigrated(engine.url, 'svc', [store])),
    async [Symbol.asyncDispose]() {
      await engine.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
