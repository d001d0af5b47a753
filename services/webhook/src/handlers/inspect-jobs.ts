import { askedFor, recordAudit } from '@svc/audit/audit.ts'
import type { inspectJobs as inspectJobsCall, retryJobs as retryJobsCall } from '@svc/contracts/admin.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { runReport } from '@svc/postgres/report.ts'
import type { WebhookDeps } from '../deps.ts'
import { listInspected, retryFailed } from '../store/job-inspection.ts'

/** Lists pending and failed jobs by webhook. */
export async function inspectJobs(
  { database }: Pick<WebhookDeps, 'database'>,
  { agent_id: only, after, limit }: RequestOf<typeof inspectJobsCall>,
): Promise<ReplyOf<typeof inspectJobsCall>> {
  const found = await runReport(database, (tx) => listInspected(tx, { only, after, limit }))
  const last = found.length === limit ? found.at(-1) : undefined
  return {
    webhooks: found.map(({ url, ...counts }) => ({ ...counts, host: url === null ? null : new URL(url).host })),
    next: last?.agent_id ?? null,
  }
}

/** @param wake Makes this process look for due jobs at once; other processes find them at their next pass. */
export async function retryJobs(
  { database, wake }: Pick<WebhookDeps, 'database'> & { wake: () => void },
  request: RequestOf<typeof retryJobsCall>,
  context: Pick<CallContext, 'operator'>,
): Promise<ReplyOf<typeof retryJobsCall>> {
  const { agent_id: agentId, message_id: messageId, limit, dry_run: dryRun } = request
  const which = { agentId, messageId, limit, dryRun }
  const retry = async (): Promise<number> => {
    const asked = askedFor(request, context)
    return await database.transaction(async (tx) => {
      const jobs = await retryFailed(tx, which)
      const target = messageId ?? agentId
      if (jobs > 0) await recordAudit(tx, 'webhook', { ...asked, action: 'retry', target, result: { jobs } })
      return jobs
    })
  }
  const jobs = await (dryRun ? database.run((sql) => retryFailed(sql, which)) : retry())
  if (jobs > 0 && !dryRun) wake()
  return { jobs, more: jobs === limit }
}
