/** Answers `svc admin verify` about an owner's operations. */
import { COMPARED_MS, judgeOperations, listOperations } from '@svc/contracts/admin.ts'
import type { ChargeOwner } from '@svc/contracts/budget.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { type Endpoint, handle } from '@svc/nats/serve.ts'
import type { Database, Sql, Tx } from '@svc/postgres/database.ts'
import { runReport } from '@svc/postgres/report.ts'

type Verdict = ReplyOf<ReturnType<typeof judgeOperations>>['verdicts'][number]

interface BooksOptions {
  owner: ChargeOwner
  database: Database
  /** Judges operations whose own row is their record. Answers undefined for an operation that is recorded in `operations`. */
  judge?: (tx: Tx, operations: readonly string[]) => Promise<readonly (Verdict | undefined)[]>
}

/** The calls that every owner serves to the operator's tool. */
export function booksEndpoints({ owner, database, judge = async () => [] }: BooksOptions): Endpoint[] {
  return [
    handle(listOperations(owner), (request) => runReport(database, (tx) => list(tx, owner, request))),
    handle(judgeOperations(owner), ({ operations }) =>
      runReport(database, async (tx) => {
        const [own, recorded] = [await judge(tx, operations), await findRecorded(tx, owner, operations)]
        const verdicts = operations.map(
          (operation, index) => own[index] ?? { done: recorded.has(operation), charge: null },
        )
        return { verdicts }
      }),
    ),
  ]
}

/** `after` is `<deadline>:<operation>`. */
async function list(
  sql: Sql | Tx,
  schema: string,
  { after, limit }: RequestOf<ReturnType<typeof listOperations>>,
): Promise<ReplyOf<ReturnType<typeof listOperations>>> {
  const [, deadline = '0', id = ''] = /^(\d{1,16}):(.*)$/s.exec(after) ?? []
  const rows = await sql<{ id: string; deadline_ms: number }[]>`
    select o.id, o.deadline_ms from ${sql(`${schema}.operations`)} o
    where o.committed and o.deadline_ms > extract(epoch from statement_timestamp()) * 1000 - ${COMPARED_MS}::bigint
      and (o.deadline_ms, o.id) > (${deadline}::bigint, ${id})
    order by o.deadline_ms, o.id limit ${limit}`
  const last = rows.length === limit ? rows.at(-1) : undefined
  return {
    operations: rows.map((row) => row.id),
    next: last === undefined ? null : `${last.deadline_ms}:${last.id}`,
  }
}

async function findRecorded(sql: Sql | Tx, schema: string, operations: readonly string[]): Promise<Set<string>> {
  const rows = await sql<{ id: string }[]>`
    select o.id from ${sql(`${schema}.operations`)} o where o.committed and o.id = any (${[...operations]}::text[])`
  return new Set(rows.map((row) => row.id))
}
