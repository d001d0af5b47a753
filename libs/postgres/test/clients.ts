/** Everything that connects to Postgres, so that tests can compare what a URL means to each. */
import { mkdirSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { createLogger, type Logger } from '@svc/telemetry/logger.ts'
import { findTestRun } from '@svc/test/support/engines/engines.ts'
import { openDatabase } from '../src/database.ts'
import { migrate } from '../src/migration/migrate.ts'
import { prepareRoles } from '../src/migration/roles.ts'

type Connect = (url: string, log?: (line: string) => void) => Promise<unknown>

export const CLIENTS: Readonly<Record<string, Connect>> = {
  'a service (postgres)': async (url, log = () => {}) => {
    const logger = createLogger('test', 'silent') as Logger
    logger.info = (line: unknown) => log(String(line))
    await using database = openDatabase({ url, application: 'test', logger, poolSize: 1 })
    await database.run((sql) => sql`select 1`).catch((error: Error) => Promise.reject(error.cause ?? error))
  },
  'a migration (pg)': async (url, log = () => {}) => {
    const dir = mkdtempSync(join((await findTestRun()).folder, 'database-'))
    mkdirSync(join(dir, 'tables'))
    await migrate({ url, schema: 'public', dir, log })
  },
  'the roles (postgres)': (adminUrl, log = () => {}) =>
    prepareRoles({ adminUrl, stores: [], passwordOf: () => '', log }),
}

export function outcomeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'connected',
    (error: Error) => error.message,
  )
}
