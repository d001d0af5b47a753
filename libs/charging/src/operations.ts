/** Records an owner's operations in its own database. Messages need no record, because messaging.ids has one. */
import { createBatcher } from '@svc/batching/batcher.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import { type Database, isLockTimeout, retryOnConflict, type Sql, type Tx } from '@svc/postgres/database.ts'
import type { PendingQuery, Row } from 'postgres'
import type { Fences, Reservation } from './fences.ts'

interface OperationsOptions {
  database: Database
  /** The owner's schema, which has the SQL of `copy-sql.ts`. */
  schema: string
}

export interface Operations extends Fences {
  /**
   * Records the operation in the owner's transaction. If this throws, the transaction cannot commit.
   *
   * @returns `duplicate` if another attempt has committed the operation. Then the transaction must not do the work again.
   * @throws ServiceError `unavailable` past the deadline, or if the attempt was given up.
   */
  commit(tx: Tx, reservation: Reservation): Promise<'committed' | 'duplicate'>
  /** At most `limit` committed operations whose deadline passed at least `ageMs` ago. */
  listCommitted(ageMs: number, limit: number): Promise<string[]>
  /** Removes committed operations. Pass only operations whose reservations are durably settled. */
  remove(ids: readonly string[]): Promise<void>
  /** Removes at most `limit` fences whose deadline passed at least `ageMs` ago. @returns how many. */
  removeFences(ageMs: number, limit: number): Promise<number>
}

const REFUSED = 'CHG01'
/** Calls that fence one operation each. While such a call waits for a lock, it may hold a pool connection for a second. */
const MAX_FENCED_ALONE = 2

export function createOperations({ database, schema }: OperationsOptions): Operations {
  const commitOperation = `${schema}.commit_operation`
  const fenceOperations = `${schema}.fence_operations`
  const table = `${schema}.operations`
  const fenceAlone = createBatcher<Reservation, boolean | undefined>({
    maxItems: 1,
    concurrency: MAX_FENCED_ALONE,
    run: (items) =>
      fenceTogether(items).catch((error: unknown) => {
        if (!isLockTimeout(error)) throw error
        return [undefined]
      }),
  })

  return {
    async commit(tx, { operation, deadlineMs }) {
      try {
        const [row] = await tx<{ outcome: 'committed' | 'duplicate' }[]>`
          /* charging.commit */ select ${tx(commitOperation)}(${operation}, ${deadlineMs}) as outcome`
        if (row === undefined) throw new Error('commit_operation returned no row')
        return row.outcome
      } catch (error) {
        throw sqlStateOf(error) === REFUSED ? new ServiceError('unavailable', { cause: error }) : error
      }
    },
    async fence(items) {
      if (items.length === 0) return []
      try {
        return await fenceTogether(items)
      } catch (error) {
        if (!isLockTimeout(error)) throw error
        // One stalled commit must not delay the answers for the other operations.
        return items.length === 1 ? [undefined] : Promise.all(items.map(fenceAlone))
      }
    },
    async listCommitted(ageMs, limit) {
      const rows = await database.run(
        (sql) => sql<{ id: string }[]>`
          /* charging.list-committed */ select id from ${sql(table)} where committed and deadline_ms < ${olderThan(sql, ageMs)}
          order by deadline_ms limit ${limit}`,
      )
      return rows.map((row) => row.id)
    },
    async remove(ids) {
      if (ids.length === 0) return
      await database.run(
        (sql) => sql`/* charging.remove */ delete from ${sql(table)} where committed and id = any(${[...ids]}::text[])`,
      )
    },
    async removeFences(ageMs, limit) {
      const removed = await database.run(
        (sql) => sql`
          /* charging.remove-fences */ with old as (
            select id from ${sql(table)} where not committed and deadline_ms < ${olderThan(sql, ageMs)}
            order by deadline_ms limit ${limit} for update skip locked
          )
          delete from ${sql(table)} o using old where o.id = old.id`,
      )
      return removed.count
    },
  }

  async function fenceTogether(items: readonly Reservation[]): Promise<boolean[]> {
    const rows = await retryOnConflict(() =>
      database.run(
        (sql) => sql<{ operation: string; committed: boolean }[]>`
          /* charging.fence */ select f.operation, f.committed from ${sql(fenceOperations)}(
            ${items.map((item) => item.operation)}::text[],
            ${items.map((item) => item.deadlineMs)}::bigint[]
          ) f`,
      ),
    )
    const committed = new Map(rows.map((row) => [row.operation, row.committed]))
    return items.map(({ operation }) => {
      const answer = committed.get(operation)
      if (answer === undefined) throw new Error('fence_operations must return one row for each item')
      return answer
    })
  }
}

/** Epoch milliseconds by the clock that deadlines are compared with. */
function olderThan(sql: Sql, ageMs: number): PendingQuery<Row[]> {
  return sql`(extract(epoch from statement_timestamp()) * 1000 - ${ageMs}::bigint)::bigint`
}

function sqlStateOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
