/** A database of its own for tests of the store, without the service around it. */
import type { Reservation } from '@svc/charging/fences.ts'
import { openDatabase } from '@svc/postgres/database.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { borrowDatabase } from '@svc/test/support/engines/database.ts'
import { untilDefined } from '@svc/test/support/eventually.ts'
import postgres from 'postgres'
import { createFences } from '../../src/store/send/message-fences.ts'
import { withNotedErrors } from './noted-errors.ts'

export const RETENTION_SECONDS = 3_600

export async function startStore() {
  const stack = new AsyncDisposableStack()
  const testDatabase = stack.use(await borrowDatabase())
  const url = testDatabase.urlFor('messaging')
  const logger = createLogger('test', 'silent')
  /** SQLSTATEs of failed attempts, including retried ones. */
  const errors: unknown[] = []
  /** Connects as another process would. */
  const open = () => withNotedErrors(stack.use(openDatabase({ url, application: 'test', logger })), errors)
  const database = open()
  const fences = createFences(database, { fence: async () => [] })
  return {
    database,
    open,
    errors,
    fences,
    /** Repeats the fence until it knows the outcome. */
    untilFenced: (item: Reservation) => untilDefined(async () => (await fences.fence([item]))[0]),
    openAdmin: () =>
      stack.adopt(postgres(testDatabase.adminUrl, { max: 1, onnotice: () => {} }), (admin) => admin.end()),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
