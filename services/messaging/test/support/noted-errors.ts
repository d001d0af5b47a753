import type { Database } from '@svc/postgres/database.ts'

/** The database, with a record of the SQLSTATE of each failed attempt, including retried ones. */
export function withNotedErrors(database: Database, errors: unknown[]): Database {
  const note = (error: { code?: unknown; cause?: { code?: unknown } }): never => {
    errors.push(error.cause?.code ?? error.code)
    throw error
  }
  return { ...database, run: (work) => database.run(work).catch(note) }
}
