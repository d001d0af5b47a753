import type { Database } from '@svc/postgres/database.ts'

/** The database, with the SQLSTATEs of what fails there noted, also where it is tried again. */
export function withNotedErrors(database: Database, errors: unknown[]): Database {
  const note = (error: { code?: unknown; cause?: { code?: unknown } }): never => {
    errors.push(error.cause?.code ?? error.code)
    throw error
  }
  return { ...database, run: (work) => database.run(work).catch(note) }
}
