import type { Sql } from '@svc/postgres/database.ts'
import { textList } from '@svc/postgres/text-list.ts'
import type { Allowances } from '../domain/allowances.ts'
import type { Refusal } from '../domain/refusal.ts'

/** Postgres's word for no `lock_timeout`. */
const UNLIMITED = 0

/** One attempt at an operation, and what that costs. */
export interface ReserveItem {
  operation: string
  owner: string
  agentId: string
  units: number
  introductionPeer: string | null
  holdMs: number
}

/** What became of it: database/functions/reserve.sql says when each is answered. */
export interface Reserved {
  outcome: 'taken' | 'held' | 'settled' | 'other_price' | 'differs' | Refusal
  deadlineMs: number
  /** The database's clock when it was decided. */
  nowMs: number
}

export interface ReserveOptions {
  /** Moves the clock, in tests. */
  at?: Date
  /** For each lock; without it until the statement's own timeout. */
  lockWaitMs?: number
}

/**
 * Takes what a batch of operations costs; an agent occurs once.
 * @throws postgres's 40P01 where it ended the batch for a deadlock, and 55P03 where a lock was not free in time; nothing was
 *   taken then.
 */
export async function reserveBatch(
  sql: Sql,
  allowances: Allowances,
  items: readonly ReserveItem[],
  options: ReserveOptions = {},
): Promise<Reserved[]> {
  if (items.length === 0) return []
  // As those that settle and give back: what shares operations with another batch meets it in one order.
  const sorted = items.toSorted((one, other) => (one.operation < other.operation ? -1 : 1))
  const reserved = await takeSorted(sql, allowances, sorted, options)
  const outcomes = new Map(sorted.map((item, index) => [item, reserved[index]]))
  return items.map((item) => {
    const outcome = outcomes.get(item)
    if (outcome === undefined) throw new Error('a batch answers every item')
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
  if (again.length === 0) throw new Error('an agent occurs twice in a batch')
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

/** Accounts that another transaction holds, of these. It waits for none of them. */
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

/** Once for each agent, before its first charge. In key order, as everything that waits for accounts. */
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
