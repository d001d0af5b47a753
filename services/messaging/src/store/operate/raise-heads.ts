import type { Tx } from '@svc/postgres/database.ts'

/** The outcome of a batch; database/functions/raise_heads.sql defines each member. */
interface RaisedBatch {
  began: boolean
  raised: number
  logs: number
  more: boolean
  differs: boolean
}

/** The longest wait for the lock of a log. Its appends are short. */
const LOCK_WAIT_MS = 1_000

/** Raises the heads of the next `limit` logs, once for each reference. */
export async function raiseHeads(
  tx: Tx,
  { reference, by, limit }: { reference: string; by: number; limit: number },
): Promise<RaisedBatch> {
  const [batch] = await tx<RaisedBatch[]>`
    select r.began, r.raised, r.logs, r.more, r.differs
    from messaging.raise_heads(${reference}, ${by}::bigint, ${limit}::integer, ${LOCK_WAIT_MS}::integer) r`
  if (batch === undefined) throw new Error('raise_heads answered nothing')
  return batch
}

/** What `raiseHeads` would do in all its batches. */
export async function previewRaise(
  tx: Tx,
  { reference, by }: { reference: string; by: number },
): Promise<Pick<RaisedBatch, 'logs' | 'differs'> & { done: boolean }> {
  const [found] = await tx<{ logs: number; differs: boolean; done: boolean }[]>`
    select (select count(*) from messaging.logs l where l.id > coalesce(r.through, '')) as logs,
      coalesce(r.raised_by <> ${by}::bigint, false) as differs, r.reference is not null and r.through is null as done
    from (select 1) one left join messaging.raises r on r.reference = ${reference}`
  if (found === undefined) throw new Error('the preview answered nothing')
  return found
}
