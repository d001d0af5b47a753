import type { Suspension } from '@svc/contracts/suspension.ts'
import type { Sql, Tx } from '@svc/postgres/database.ts'
import type { ErasureStep } from '../domain/erasure-steps.ts'

export interface Erasure {
  readonly tombstone: string
  /** Null once the agent is erased. */
  readonly agent_id: string | null
  /** Unix seconds. */
  readonly requested_at: number
  readonly due_at: number
  readonly step: ErasureStep
  readonly place: string
  readonly operator: string
  readonly reason: string
  readonly reference: string | null
  /** The suspension before the erasure was asked for. */
  readonly earlier_suspension: Suspension | null
  readonly report: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly finished_at: number | null
}

/** Longer than any step. */
const LEASE_SECONDS = 40

/** The tombstone of an agent id, whether the agent exists or not. */
export async function tombstoneOf(sql: Sql | Tx, agentId: string): Promise<string> {
  const [row] = await sql<{ tombstone: string }[]>`select identity.tombstone_of('agent:' || ${agentId}) as tombstone`
  if (row === undefined) throw new Error('identity.erasure_key has no row')
  return row.tombstone
}

export async function findErasure(sql: Sql | Tx, tombstone: string): Promise<Erasure | undefined> {
  const [erasure] = await sql<
    Erasure[]
  >`select ${columns(sql)} from identity.erasures e where e.tombstone = ${tombstone}`
  return erasure
}

/** Whether an erasure of the agent waits or has begun. */
export async function hasErasure(sql: Sql | Tx, agentId: string): Promise<boolean> {
  const [row] = await sql`select from identity.erasures e where e.agent_id = ${agentId}`
  return row !== undefined
}

/** All erasures that wait, and the newest that are finished. */
export async function listErasures(sql: Sql, limit: number): Promise<Erasure[]> {
  return sql<Erasure[]>`
    select ${columns(sql)} from identity.erasures e
    order by e.finished_at is null desc, e.requested_at desc limit ${limit}`
}

type Demand = Pick<Erasure, 'tombstone' | 'operator' | 'reason' | 'reference' | 'earlier_suspension'> & {
  readonly agentId: string
  readonly delaySeconds: number
}

/** Records a demand. If the first step has not begun, a repeat moves its time. @returns the erasure. */
export async function demandErasure(
  tx: Tx,
  { tombstone, agentId, delaySeconds, operator, reason, reference, earlier_suspension: earlier }: Demand,
): Promise<Erasure> {
  await tx`
    insert into identity.erasures as e (tombstone, agent_id, due_at, operator, reason, reference, earlier_suspension)
    values (${tombstone}, ${agentId}, clock_timestamp() + make_interval(secs => ${delaySeconds}), ${operator}, ${reason},
      ${reference}, ${earlier === null ? null : tx.json(earlier)})
    on conflict (tombstone) do update set due_at = excluded.due_at where e.step = 'close'`
  const erasure = await findErasure(tx, tombstone)
  if (erasure === undefined) throw new Error('the erasure that was just written is missing')
  return erasure
}

/** Withdraws a demand whose first step has not begun. @returns the erasure before the withdrawal; undefined if none could be withdrawn. */
export async function cancelErasure(tx: Tx, tombstone: string): Promise<Erasure | undefined> {
  const [erasure] = await tx<Erasure[]>`
    delete from identity.erasures e
    where e.tombstone = ${tombstone} and e.step = 'close'
    returning ${columns(tx)}`
  return erasure
}

/**
 * Leases the erasure that has been due for longest. No other process works on it until the lease ends. With the first
 * lease the erasure has begun: an operator can no longer cancel it or move its time.
 */
export async function claimErasure(sql: Sql): Promise<(Erasure & { agent_id: string }) | undefined> {
  const [erasure] = await sql<(Erasure & { agent_id: string })[]>`
    update identity.erasures e
    set due_at = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS}),
      step = case e.step when 'close' then 'closing' else e.step end
    where e.tombstone = (
      select d.tombstone from identity.erasures d
      where d.finished_at is null and d.due_at <= clock_timestamp()
      order by d.due_at limit 1 for update skip locked
    )
    returning ${columns(sql)}`
  return erasure
}

type Progress = Pick<Erasure, 'tombstone' | 'step' | 'place' | 'report'> & { readonly waitSeconds: number }

/** Records the result of a step, unless the lease ended and another process has continued. */
export async function advanceErasure(
  sql: Sql,
  from: ErasureStep,
  { tombstone, step, place, report, waitSeconds }: Progress,
): Promise<void> {
  await sql`
    update identity.erasures e
    set step = ${step}, place = ${place}, report = ${sql.json(report)},
      due_at = clock_timestamp() + make_interval(secs => ${waitSeconds})
    where e.tombstone = ${tombstone} and e.step = ${from}`
}

/** Deletes the agent, and ends the erasure. */
export async function finishErasure(
  tx: Tx,
  { tombstone, agent_id: agentId }: Erasure & { agent_id: string },
): Promise<void> {
  await tx`select identity.erase_agent(${agentId})`
  await tx`
    update identity.erasures e set step = 'done', agent_id = null, finished_at = clock_timestamp()
    where e.tombstone = ${tombstone}`
}

function columns(sql: Sql | Tx) {
  return sql`
    e.tombstone, e.agent_id, floor(extract(epoch from e.requested_at))::bigint as requested_at,
    ceil(extract(epoch from e.due_at))::bigint as due_at, e.step, e.place, e.operator, e.reason, e.reference, e.earlier_suspension,
    e.report, floor(extract(epoch from e.finished_at))::bigint as finished_at`
}
