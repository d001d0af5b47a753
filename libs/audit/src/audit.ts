/** The audit of a service: one row for each change by an operator. */
import { type AuditEntry, type Audited, listAudit } from '@svc/contracts/admin.ts'
import type { CallContext, RequestOf } from '@svc/contracts/define.ts'
import { type ErasedCounts, type Erasing, eraseAgent } from '@svc/contracts/erasure.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import { type Endpoint, handle } from '@svc/nats/serve.ts'
import type { Database, Sql, Tx } from '@svc/postgres/database.ts'
import { runErasure } from '@svc/postgres/report.ts'

interface NewAuditEntry {
  readonly operator: string
  readonly reason: string
  /** What was done, such as `grant`. */
  readonly action: string
  /** The id of the agent, message or board. Null: all. */
  readonly target?: string | null
  readonly reference?: string | null
  readonly result?: AuditEntry['result']
}

/**
 * Who asks, and why.
 * @throws ServiceError `invalid_request` if the reason is missing.
 */
export function askedFor(
  { reason }: { readonly reason?: string | undefined },
  { operator }: Pick<CallContext, 'operator'>,
): Pick<NewAuditEntry, 'operator' | 'reason'> {
  if (operator === undefined) throw new Error('only a call of an operator is recorded in the audit')
  if (reason === undefined)
    throw new ServiceError('invalid_request', { detail: 'a change by an operator needs a reason' })
  return { operator, reason }
}

/**
 * Records a change, in the transaction of the change. Call it last: from here to the commit, no other transaction can record
 * anything, so that rows become visible in the order of their ids.
 */
export async function recordAudit(tx: Tx, service: Audited, entry: NewAuditEntry): Promise<void> {
  const { operator, action, target = null, reference = null, reason, result = {} } = entry
  await tx`select pg_advisory_xact_lock(hashtextextended(${`${service}.audit`}, 0))`
  await tx`
    insert into ${tx(`${service}.audit`)} (operator, action, target, reference, reason, result)
    values (${operator}, ${action}, ${target}, ${reference}, ${reason}, ${tx.json(result)})`
}

/**
 * Records that an agent was erased, once, and replaces its id in earlier rows by its keyed hash.
 * @param erased the request of `eraseAgent` (libs/contracts, erasure.ts).
 * @returns the counts. A repeat finds nothing to erase, and returns the counts of the first call.
 */
export async function recordErasure(
  tx: Tx,
  service: Audited,
  erased: { agent_id: string; tombstone: string } & Pick<NewAuditEntry, 'operator' | 'reason' | 'reference'>,
  counts: ErasedCounts,
): Promise<ErasedCounts> {
  const { agent_id: agentId, tombstone, operator, reason, reference = null } = erased
  await tx`select ${tx(`${service}.forget_in_audit`)}(${agentId}, ${tombstone})`
  const [known] = await tx<{ result: ErasedCounts }[]>`
    select a.result from ${tx(`${service}.audit`)} a where a.target = ${tombstone} and a.action = 'erased'`
  if (known !== undefined) return known.result
  await recordAudit(tx, service, { operator, reason, reference, action: 'erased', target: tombstone, result: counts })
  return counts
}

/**
 * Serves identity's call to erase an agent in this service, in one transaction.
 * @param erase deletes the agent's data, or replaces the id with the tombstone.
 */
export function eraseEndpoint(
  service: Exclude<Erasing, 'messaging'>,
  database: Database,
  erase: (tx: Tx, agentId: string, tombstone: string) => Promise<ErasedCounts>,
): Endpoint {
  return handle(eraseAgent(service), async (request) => {
    const counts = await runErasure(database, async (tx) =>
      recordErasure(tx, service, request, await erase(tx, request.agent_id, request.tombstone)),
    )
    return { done: true, counts }
  })
}

/** The call that shows the audit to operators. */
export function auditEndpoint(service: Audited, database: Database): Endpoint {
  return handle(listAudit(service), async (request) => ({
    entries: await database.run((sql) => listEntries(sql, service, request)),
  }))
}

async function listEntries(
  sql: Sql,
  service: Audited,
  { after, limit, newest, target, operator }: RequestOf<ReturnType<typeof listAudit>>,
): Promise<AuditEntry[]> {
  const rows = await sql<AuditEntry[]>`
    select a.id, floor(extract(epoch from a.at) * 1000)::bigint as at_ms, a.operator, a.action, a.target, a.reference, a.reason,
      a.result
    from ${sql(`${service}.audit`)} a
    where a.id > ${after} and (${target}::text is null or a.target = ${target})
      and (${operator}::text is null or a.operator = ${operator})
    order by a.id ${newest ? sql`desc` : sql``} limit ${limit}`
  return newest ? rows.toReversed() : rows
}
