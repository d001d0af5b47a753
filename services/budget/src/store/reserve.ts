import type { Sql } from '@svc/postgres/database.ts'
import { textList } from '@svc/postgres/text-list.ts'
import type { Allowances, Refusal } from '../domain/decide.ts'

/** One attempt at an operation, and what that costs. */
export interface ReserveItem {
  operation: string
  owner: string
  agentId: string
  units: number
  introductionPeer: string | null
  holdMs: number
}

/** What became of it: migrations/0006_price-of-a-repeat.sql says when each is answered, 0007_reserve-one.sql is in force. */
export interface Reserved {
  outcome: 'taken' | 'held' | 'settled' | 'other_price' | 'differs' | Refusal
  deadlineMs: number
  /** The database's clock when it was decided. */
  nowMs: number
}

/**
 * Takes what a batch of operations costs; an agent occurs once.
 * @param at moves the clock, in tests.
 * @throws postgres's 40P01 where it ended the batch for a deadlock; nothing was taken then.
 */
export async function reserveBatch(
  sql: Sql,
  allowances: Allowances,
  items: readonly ReserveItem[],
  at: Date | null = null,
): Promise<Reserved[]> {
  if (items.length === 0) return []
  // As those that settle and give back: what shares operations with another batch meets it in one order.
  const sorted = items.toSorted((one, other) => (one.operation < other.operation ? -1 : 1))
  const reserved = await takeSorted(sql, allowances, sorted, at)
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
  at: Date | null,
): Promise<Reserved[]> {
  const reserved = await takeBatch(sql, allowances, items, at)
  if (reserved.length > 0) return reserved
  await openAccounts(sql, items)
  const again = await takeBatch(sql, allowances, items, at)
  if (again.length === 0) throw new Error('an agent occurs twice in a batch')
  return again
}

async function takeBatch(
  sql: Sql,
  allowances: Allowances,
  items: readonly ReserveItem[],
  at: Date | null,
): Promise<Reserved[]> {
  const texts = (textOf: (item: ReserveItem) => string) => textList(sql, items.map(textOf))
  return sql<Reserved[]>`
    select r.outcome, r.deadline_ms as "deadlineMs", r.now_ms as "nowMs"
    from budget.reserve(
      ${texts((item) => item.operation)},
      ${texts((item) => item.owner)},
      ${texts((item) => item.agentId)},
      ${items.map((item) => item.units)}::bigint[],
      ${items.map((item) => item.introductionPeer)}::text[],
      ${items.map((item) => item.holdMs)}::bigint[],
      ${allowances.freeUnits}::bigint,
      ${allowances.hardLimit}::bigint,
      ${allowances.introductions}::bigint,
      ${at}::timestamptz
    ) r order by r.ord`
}

/** Once for each agent, before its first charge. In key order, as everything that waits for accounts. */
async function openAccounts(sql: Sql, items: readonly ReserveItem[]): Promise<void> {
  await sql`
    insert into budget.accounts (agent_id)
    select agent_id from unnest(${items.map((item) => item.agentId)}::text[]) as u (agent_id) order by agent_id
    on conflict do nothing`
}
