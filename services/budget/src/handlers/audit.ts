/** What `svc admin verify` asks of the ledger. */
import {
  AUDITED_MS,
  DISCREPANCIES_MAX,
  type judgeCharges as judgeChargesCall,
  type listCharges as listChargesCall,
  type verifyAccounts as verifyAccountsCall,
} from '@svc/contracts/admin.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { runReport } from '@svc/postgres/report.ts'
import type { BudgetDeps } from '../deps.ts'
import { findAgentPage, findCharges, findIntroduced, findWrongAccounts, listSettled } from '../store/audit.ts'

type Deps = Pick<BudgetDeps, 'database'>

export function verifyAccounts(
  { database }: Deps,
  { after, limit, id }: RequestOf<typeof verifyAccountsCall>,
): Promise<ReplyOf<typeof verifyAccountsCall>> {
  return runReport(database, async (tx) => {
    const { count, last } = id === null ? await findAgentPage(tx, after, limit) : { count: 1, last: null }
    return {
      checked: count,
      discrepancies: await findWrongAccounts(tx, { after, last, only: id }, DISCREPANCIES_MAX),
      next: last,
    }
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
      sinceMs: AUDITED_MS,
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
