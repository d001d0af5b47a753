/** Answers `svc admin verify` about the ledger. */
import {
  COMPARED_MS,
  DISCREPANCIES_MAX,
  type judgeCharges as judgeChargesCall,
  type listCharges as listChargesCall,
  type sumCharges as sumChargesCall,
  type verifyAccounts as verifyAccountsCall,
} from '@svc/contracts/admin.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { runReport } from '@svc/postgres/report.ts'
import type { BudgetDeps } from '../deps.ts'
import {
  findAgentPage,
  findCharges,
  findIntroduced,
  findToday,
  findWrongAccounts,
  listSettled,
  sumEnded,
} from '../store/books.ts'

type Deps = Pick<BudgetDeps, 'database'>

export function verifyAccounts(
  { database }: Deps,
  { after, limit, id, until_ms: untilMs }: RequestOf<typeof verifyAccountsCall>,
): Promise<ReplyOf<typeof verifyAccountsCall>> {
  return runReport(database, async (tx) => {
    const { count, last } = id === null ? await findAgentPage(tx, after, limit) : { count: 1, last: null }
    const range = { after, last, only: id }
    const page = { checked: count, next: last }
    const discrepancies = await findWrongAccounts(tx, range, untilMs === undefined, DISCREPANCIES_MAX)
    if (untilMs === undefined) return { ...page, discrepancies }
    const { day, sums } = await findToday(tx, range, untilMs)
    return { ...page, discrepancies, day, today: sums }
  })
}

/** `after` is `<deadline>:<operation>`. */
export function sumCharges(
  { database }: Deps,
  { after, until_ms: untilMs, limit, agent_id: agentId }: RequestOf<typeof sumChargesCall>,
): Promise<ReplyOf<typeof sumChargesCall>> {
  const [, deadline = '0', operation = ''] = /^(\d{1,16}):(.*)$/s.exec(after) ?? []
  return runReport(database, async (tx) => {
    const place = { deadlineMs: Number(deadline), operation }
    const { last, untilMs: until, ...found } = await sumEnded(tx, { after: place, untilMs, agentId, limit })
    return { ...found, until_ms: until, next: last === null ? null : `${last.deadlineMs}:${last.operation}` }
  })
}

/** `after` is `<deadline>:<operation>`. */
export function listCharges(
  { database }: Deps,
  { after, limit, agent_id: agentId }: RequestOf<typeof listChargesCall>,
): Promise<ReplyOf<typeof listChargesCall>> {
  const [, deadline = '0', operation = ''] = /^(\d{1,16}):(.*)$/s.exec(after) ?? []
  return runReport(database, async (tx) => {
    const rows = await listSettled(tx, {
      sinceMs: COMPARED_MS,
      after: { deadlineMs: Number(deadline), operation },
      agentId,
      limit,
    })
    const last = rows.length === limit ? rows.at(-1) : undefined
    return {
      charges: rows.map(({ deadline_ms: _, ...charge }) => charge),
      next: last === undefined ? null : `${last.deadline_ms}:${last.operation}`,
    }
  })
}

export function judgeCharges(
  { database }: Deps,
  { operations, pairs }: RequestOf<typeof judgeChargesCall>,
): Promise<ReplyOf<typeof judgeChargesCall>> {
  return runReport(database, async (tx) => {
    const known = new Map((await findCharges(tx, operations)).map((charge) => [charge.operation, charge]))
    return {
      charges: operations.map((operation) => known.get(operation) ?? null),
      introduced: await findIntroduced(tx, pairs),
    }
  })
}
