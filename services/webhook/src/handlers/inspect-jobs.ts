import type { inspectJobs as inspectJobsCall, retryJobs as retryJobsCall } from '@svc/contracts/admin.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { retryOnConflict } from '@svc/postgres/errors.ts'
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
  { agent_id: agentId, message_id: messageId, limit, dry_run: dryRun }: RequestOf<typeof retryJobsCall>,
): Promise<ReplyOf<typeof retryJobsCall>> {
  const jobs = await retryOnConflict(() =>
    database.run((sql) => retryFailed(sql, { agentId, messageId, limit, dryRun })),
  )
  if (jobs > 0 && !dryRun) wake()
  return { jobs, more: jobs === limit }
}
