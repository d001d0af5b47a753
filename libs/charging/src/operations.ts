/** The record of an owner's operations in its own database, for those that leave no row which could stand in for it. */
import { ServiceError } from '@svc/contracts/errors.ts'
import { type Database, retryOnConflict, type Tx } from '@svc/postgres/database.ts'
import type { Fences, Reservation } from './fences.ts'

export interface OperationsOptions {
  database: Database
  /** The owner's schema; a migration of its own has put `operationsMigration(schema)` there. */
  schema: string
}

export interface Operations extends Fences {
  /**
   * Records the operation in the owner's transaction, which cannot commit when this throws.
   *
   * @returns `duplicate` where another attempt has committed it: the transaction must not do the work again.
   * @throws ServiceError `unavailable` past the deadline, or where the attempt was given up.
   */
  commit(tx: Tx, reservation: Reservation): Promise<'committed' | 'duplicate'>
  /** Ids of operations committed under a deadline before `beforeMs`, at most `limit`. */
  listCommitted(beforeMs: number, limit: number): Promise<string[]>
  /** Forgets committed operations. Only those whose reservations are settled for good may be named. */
  remove(ids: readonly string[]): Promise<void>
  /** Forgets fences that reach no further than `beforeMs`, at most `limit`. @returns how many. */
  removeFences(beforeMs: number, limit: number): Promise<number>
}

const REFUSED = 'CHG01'
const LOCK_NOT_AVAILABLE = '55P03'

export function createOperations({ database, schema }: OperationsOptions): Operations {
  const commitOperation = `${schema}.commit_operation`
  const fenceOperations = `${schema}.fence_operations`
  const table = `${schema}.operations`

  return {
    async commit(tx, { operation, deadlineMs }) {
      try {
        const [row] = await tx<{ outcome: 'committed' | 'duplicate' }[]>`
          select ${tx(commitOperation)}(${operation}, ${deadlineMs}) as outcome`
        if (row === undefined) throw new Error('commit_operation answers one row')
        return row.outcome
      } catch (error) {
        throw unavailableOn(REFUSED, error)
      }
    },
    async fence(items) {
      if (items.length === 0) return []
      try {
        const rows = await retryOnConflict(() =>
          database.run(
            (sql) => sql<{ operation: string; committed: boolean }[]>`
              select f.operation, f.committed from ${sql(fenceOperations)}(
                ${items.map((item) => item.operation)}::text[],
                ${items.map((item) => item.deadlineMs)}::bigint[]
              ) f`,
          ),
        )
        const committed = new Set(rows.filter((row) => row.committed).map((row) => row.operation))
        return items.map((item) => committed.has(item.operation))
      } catch (error) {
        throw unavailableOn(LOCK_NOT_AVAILABLE, error)
      }
    },
    async listCommitted(beforeMs, limit) {
      const rows = await database.run(
        (sql) => sql<{ id: string }[]>`
          select id from ${sql(table)} where committed and deadline_ms < ${beforeMs} order by deadline_ms limit ${limit}`,
      )
      return rows.map((row) => row.id)
    },
    async remove(ids) {
      await database.run((sql) => sql`delete from ${sql(table)} where committed and id = any(${ids}::text[])`)
    },
    async removeFences(beforeMs, limit) {
      const removed = await database.run(
        (sql) => sql`
          delete from ${sql(table)} where not committed and deadline_ms < ${beforeMs} and id in (
            select id from ${sql(table)} where not committed and deadline_ms < ${beforeMs} order by deadline_ms limit ${limit}
          )`,
      )
      return removed.count
    },
  }
}

function unavailableOn(sqlState: string, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === sqlState ? new ServiceError('unavailable', { cause: error }) : error
}
