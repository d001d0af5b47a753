import { type Batcher, createBatcher } from '@svc/batching/batcher.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Suspension } from '@svc/contracts/suspension.ts'
import type { Database, Sql } from '@svc/postgres/database.ts'
import { retryOnConflict } from '@svc/postgres/errors.ts'
import { nonceKey } from '../domain/nonce-key.ts'

export interface Admission {
  agentId: string
  /** Lower-case hex. */
  nonce: string
}

export interface Admitted {
  replayed: boolean
  revoked: boolean
  /** Absent: not suspended. */
  suspended?: Suspension
  /** Absent: not erased. */
  erased?: true
}

const MAX_ITEMS = 128

/**
 * Consumes nonces. Concurrent ones share a transaction and a round trip (database/functions/admit.sql). If a batch
 * holds the same nonce twice, the first item is new and the second is replayed.
 */
export function createAdmit(database: Database): Batcher<Admission, Admitted> {
  return createBatcher({
    name: 'identity.admit',
    maxItems: MAX_ITEMS,
    // The next batch gathers and starts while the first commit waits for the disk.
    concurrency: 2,
    overloaded: () =>
      new ServiceError('unavailable', { cause: new Error('too many nonces are waiting to be consumed') }),
    run: (items) => retryOnConflict(() => admitBatch(database, items)),
  })
}

interface AdmitRow {
  replayed: number[]
  revoked: string[]
  /** The ends of suspensions, by agent. Null: no signer is suspended. */
  suspended: Record<string, number | null> | null
  /** Null: no agent was ever erased. */
  erased: string[] | null
}

/** @param at Replaces the database's time, for tests. */
export async function admitBatch(database: Database, items: readonly Admission[], at?: Date): Promise<Admitted[]> {
  const agents = items.map((item) => item.agentId)
  const keys = items.map((item) => nonceKey(item.agentId, item.nonce))
  // The suspended and the erased signers, in the same round trip. Usually no agent was ever erased, and then nothing is hashed.
  const [row] = await database.run(
    (sql) => sql<AdmitRow[]>`
      /* identity.admit */ select r.replayed, r.revoked, (
        select json_object_agg(
          a.agent_id, case when isfinite(a.suspended_until) then extract(epoch from a.suspended_until)::bigint end
        )
        from identity.agents a
        where a.agent_id = any (${agents}::text[]) and a.suspended_until is not null
          and a.suspended_until > statement_timestamp()
      ) as suspended, case when exists (select from identity.erased) then array(
        select u.id from unnest(${agents}::text[]) u (id)
        where exists (select from identity.erased e where e.key = identity.tombstone_of('agent:' || u.id))
      ) end as erased
      from identity.admit(${agents}::text[], ${keys}::uuid[], ${at ?? null}::timestamptz) r`,
  )
  if (row === undefined) throw new Error('identity.admit must return one row')
  const replayed = new Set(row.replayed)
  const revoked = new Set(row.revoked)
  const erased = new Set(row.erased)
  return items.map((item, index) => {
    const until = row.suspended?.[item.agentId]
    return {
      replayed: replayed.has(index),
      revoked: revoked.has(item.agentId),
      ...(until === undefined ? {} : { suspended: { until } }),
      ...(erased.has(item.agentId) ? { erased: true } : {}),
    }
  })
}

/** Empties the partition of the next slot, if it is time to. @returns whether it held any rows. */
export async function truncateNonces(sql: Sql, at?: Date): Promise<boolean> {
  const [row] = await sql<{ truncated: boolean }[]>`
    select identity.truncate_nonces(${at ?? null}::timestamptz) as truncated`
  return row?.truncated ?? false
}
