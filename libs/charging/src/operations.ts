/** Records an owner's operations in its own database. Messages need no record, because messaging.ids has one. */
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Database, Sql, Tx } from '@svc/postgres/database.ts'
import { retryOnConflict } from '@svc/postgres/errors.ts'
import type { PendingQuery, Row } from 'postgres'
import type { Fences, Reservation } from './fences.ts'

interface OperationsOptions {
  database: Database
  /** The owner's schema, which has the table `operations`. */
  schema: string
}

export interface Operations extends Fences {
  /**
   * Records the operation in the owner's transaction. Locks the operation until the transaction ends.
   *
   * @returns `duplicate` if another attempt has committed the operation. Then the transaction must not do the work again.
   * @throws ServiceError `unavailable` past the deadline, or if the attempt was given up. Then the transaction must not do the
   *   work either.
   */
  commit(tx: Tx, reservation: Reservation): Promise<'committed' | 'duplicate'>
  /** At most `limit` committed operations whose deadline passed at least `ageMs` ago. */
  listCommitted(ageMs: number, limit: number): Promise<string[]>
  /** Removes committed operations. Pass only operations whose reservations are durably settled. */
  remove(ids: readonly string[]): Promise<void>
  /** Removes at most `limit` fences whose deadline passed at least `ageMs` ago. @returns how many. */
  removeFences(ageMs: number, limit: number): Promise<number>
}

/**
 * One row for each operation, written by the attempt that committed or by a fence. A commit waits for the lock of the
 * operation, so it sees every earlier fence. A fence does not wait: without the lock it knows nothing about that operation.
 */
export function createOperations({ database, schema }: OperationsOptions): Operations {
  const table = `${schema}.operations`
  return {
    async commit(tx, { operation, deadlineMs }) {
      const written = await tx`
        /* charging.commit */ insert into ${tx(table)} as o (id, committed, deadline_ms)
        select ${operation}, true, ${deadlineMs}::bigint from pg_advisory_xact_lock(hashtextextended(${operation}, 0))
        where ${deadlineMs}::bigint >= extract(epoch from clock_timestamp()) * 1000
        on conflict (id) do update set committed = true, deadline_ms = excluded.deadline_ms
        where not o.committed and o.deadline_ms < excluded.deadline_ms`
      if (written.count === 1) return 'committed'
      const earlier = await tx`
        /* charging.find-committed */ select from ${tx(table)} where id = ${operation} and committed`
      if (earlier.count === 1) return 'duplicate'
      const cause = new Error('the attempt was given up, or is past its deadline')
      throw new ServiceError('unavailable', { cause })
    },
    async fence(items) {
      if (items.length === 0) return []
      const rows = await retryOnConflict(() =>
        database.run(
          (sql) => sql<{ operation: string; committed: boolean }[]>`
            /* charging.fence */ with free as materialized (
              select u.id, u.deadline_ms
              from unnest(
                ${items.map((item) => item.operation)}::text[], ${items.map((item) => item.deadlineMs)}::bigint[]
              ) u (id, deadline_ms)
              where pg_try_advisory_xact_lock(hashtextextended(u.id, 0))
            )
            insert into ${sql(table)} as o (id, committed, deadline_ms) select id, false, deadline_ms from free
            on conflict (id) do update
            set deadline_ms = case when o.committed then o.deadline_ms else greatest(o.deadline_ms, excluded.deadline_ms) end
            returning o.id as operation, o.committed`,
        ),
      )
      const committed = new Map(rows.map((row) => [row.operation, row.committed]))
      return items.map(({ operation }) => committed.get(operation))
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
}

/** Epoch milliseconds by the clock that deadlines are compared with. */
function olderThan(sql: Sql, ageMs: number): PendingQuery<Row[]> {
  return sql`(extract(epoch from statement_timestamp()) * 1000 - ${ageMs}::bigint)::bigint`
}
