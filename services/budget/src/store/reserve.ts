import type { Sql } from '@svc/postgres/database.ts'
import { textList } from '@svc/postgres/text-list.ts'
import type { Allowances } from '../domain/allowances.ts'
import type { Refusal } from '../domain/refusal-codes.ts'

/** The value of `lock_timeout` that means no timeout. */
const UNLIMITED = 0

/** One attempt at an operation, with its cost. */
export interface ReserveItem {
  operation: string
  owner: string
  agentId: string
  units: number
  introductionPeer: string | null
  holdMs: number
}

/** The outcome of one attempt; database/functions/reserve.sql defines each. */
export interface Reserved {
  outcome: 'taken' | 'held' | 'settled' | 'other_price' | 'differs' | Refusal
  deadlineMs: number
  /** The database's clock when it was decided. */
  nowMs: number
}

interface ReserveOptions {
  /** Replaces the clock, in tests. */
  at?: Date
  /** The longest wait for each lock. By default only the statement timeout limits it. */
  lockWaitMs?: number
}

/**
 * Reserves the cost of a batch of operations. An agent occurs at most once in it.
 * @throws SQLSTATE 40P01 if Postgres ended the batch because of a deadlock, or 55P03 if a lock was not free in time. In both
 *   cases nothing was taken.
 */
export async function reserveBatch(
  sql: Sql,
  allowances: Allowances,
  items: readonly ReserveItem[],
  options: ReserveOptions = {},
): Promise<Reserved[]> {
  if (items.length === 0) return []
  // Same order as settle and release, so that batches which share operations lock them in the same order.
  const sorted = items.toSorted((one, other) => (one.operation < other.operation ? -1 : 1))
  const reserved = await takeSorted(sql, allowances, sorted, options)
  const outcomes = new Map(sorted.map((item, index) => [item, reserved[index]]))
  return items.map((item) => {
    const outcome = outcomes.get(item)
    if (outcome === undefined) throw new Error('budget.reserve must return one row for each item')
    return outcome
  })
}

async function takeSorted(
  sql: Sql,
  allowances: Allowances,
  items: readonly ReserveItem[],
  options: ReserveOptions,
): Promise<Reserved[]> {
  const reserved = await takeBatch(sql, allowances, items, options)
  if (reserved.length > 0) return reserved
  await openAccounts(sql, items, options)
  const again = await takeBatch(sql, allowances, items, options)
  if (again.length === 0) throw new Error('an agent occurs twice in the batch, but may occur only once')
  return again
}

async function takeBatch(
  sql: Sql,
  allowances: Allowances,
  items: readonly ReserveItem[],
  { at, lockWaitMs = UNLIMITED }: ReserveOptions,
): Promise<Reserved[]> {
  const texts = (textOf: (item: ReserveItem) => string) => textList(sql, items.map(textOf))
  return sql<Reserved[]>`
    select r.outcome, r.deadline_ms as "deadlineMs", r.now_ms as "nowMs"
    from budget.reserve(
      operations => ${texts((item) => item.operation)},
      owners => ${texts((item) => item.owner)},
      agents => ${texts((item) => item.agentId)},
      costs => ${items.map((item) => item.units)}::bigint[],
      peers => ${items.map((item) => item.introductionPeer)}::text[],
      holds_ms => ${items.map((item) => item.holdMs)}::bigint[],
      free_units => ${allowances.freeUnits}::bigint,
      hard_limit => ${allowances.hardLimit}::bigint,
      introduction_limit => ${allowances.introductions}::bigint,
      -- Arguments are evaluated before the call, so the function takes its locks under this timeout.
      at => case when set_config('lock_timeout', ${lockWaitMs}::text, true) is not null then ${at ?? null}::timestamptz end
    ) r order by r.ord`
}

/** Finds those of the accounts that another transaction has locked, without waiting for them. */
export async function findBusyAccounts(sql: Sql, agentIds: readonly string[]): Promise<Set<string>> {
  const rows = await sql<{ agent_id: string }[]>`
    with free as materialized (
      select a.agent_id from budget.accounts a where a.agent_id = any (${[...agentIds]}::text[])
      order by a.agent_id for no key update skip locked
    )
    select a.agent_id from budget.accounts a
    where a.agent_id = any (${[...agentIds]}::text[]) and not exists (select from free f where f.agent_id = a.agent_id)`
  return new Set(rows.map(({ agent_id }) => agent_id))
}

/** Opens the accounts of agents before their first charge. In key order, like every statement that locks several accounts. */
async function openAccounts(
  sql: Sql,
  items: readonly ReserveItem[],
  { lockWaitMs = UNLIMITED }: ReserveOptions,
): Promise<void> {
  await sql`
    with patience as materialized (select set_config('lock_timeout', ${lockWaitMs}::text, true))
    insert into budget.accounts (agent_id)
    select u.agent_id from patience, unnest(${items.map((item) => item.agentId)}::text[]) as u (agent_id)
    order by u.agent_id on conflict do nothing`
}
