import type { WebhookJobs } from '@svc/contracts/admin.ts'
import type { Command } from 'commander'
import type { Operator } from '../../admin/operator.ts'
import { nameOrId } from '../../arguments.ts'
import { UsageError } from '../../io.ts'
import { table } from '../../output/output.ts'
import { type AdminGroup, agentId, DRY_RUN, operate } from './group.ts'

interface RetryOptions {
  readonly agent?: string | undefined
  readonly message?: string | undefined
  readonly all?: boolean
  readonly dryRun?: boolean
}

const WEBHOOKS_PER_PAGE = 500
const JOBS_PER_CALL = 1_000

export function addJobs({ group, io }: AdminGroup): void {
  const jobs = group
    .command('jobs')
    .description('deliveries to webhooks: what waits, what was given up, and trying that again')
    .addHelpText('after', '\nExample:\n  svc admin jobs')
  jobs
    .command('show', { isDefault: true })
    .option('--agent <agent_id>', 'of this agent alone', agentId)
    .description('webhooks with jobs that wait or were given up')
    .addHelpText('after', '\nExamples:\n  svc admin jobs\n  svc admin jobs --agent <agent_id> --json')
    .action(async ({ agent }: { agent?: string }, command: Command) => {
      await operate(io, command, async ({ ask }, { out, signal }) => {
        const found = await findWebhooks(ask, agent, signal)
        if (out.json)
          await out.list(async () => {
            for (const webhook of found) out.document(webhook)
          })
        else if (found.length > 0) out.print(found, table([HEAD, ...found.map(cellsOf)]))
        if (found.length === 0) out.note(agent === undefined ? 'nothing waits, and nothing was given up' : 'no webhook')
      })
    })
  jobs
    .command('retry')
    .option('--agent <agent_id>', 'of this agent', agentId)
    .option('--message <id>', 'of this message', nameOrId)
    .option('--all', 'of everybody')
    .option(...DRY_RUN)
    .description('try jobs again that were given up, with all of their attempts; safe to repeat')
    .addHelpText(
      'after',
      `
A job that was given up can be tried again while its message lasts, for three days, and while the webhook is the one that
it was made for. The delivery id stays, so a receiver knows one that it has had.

Examples:
  svc admin jobs retry --agent <agent_id> --dry-run
  svc admin jobs retry --agent <agent_id>
  svc admin jobs retry --all`,
    )
    .action(async ({ agent, message, all, dryRun = false }: RetryOptions, command: Command) => {
      if (agent === undefined && message === undefined && all !== true) {
        throw new UsageError('which jobs? Give --agent, --message or --all')
      }
      await operate(io, command, async ({ ask }, { out, signal }) => {
        const jobs = await retry(ask, { agent, message, dryRun }, signal)
        const count = `${jobs}${dryRun && jobs === DRY_LIMIT ? ' or more' : ''} ${jobs === 1 ? 'job' : 'jobs'}`
        out.print({ jobs, dry_run: dryRun }, [dryRun ? `would try ${count} again` : `${count} due again`])
      })
    })
}

async function findWebhooks(
  ask: Operator['ask'],
  agent: string | undefined,
  signal: AbortSignal,
): Promise<WebhookJobs[]> {
  const { inspectJobs } = await import('@svc/contracts/admin.ts')
  const found: WebhookJobs[] = []
  for (let after: string | null = ''; after !== null; ) {
    signal.throwIfAborted()
    const page: { webhooks: WebhookJobs[]; next: string | null } = await ask(
      inspectJobs,
      { agent_id: agent ?? null, after, limit: WEBHOOKS_PER_PAGE },
      LONG_MS,
    )
    found.push(...page.webhooks)
    after = agent === undefined ? page.next : null
  }
  return found
}

/** @returns how many jobs are due again; of a dry run, how many would be. */
async function retry(
  ask: Operator['ask'],
  { agent, message, dryRun }: RetryOptions,
  signal: AbortSignal,
): Promise<number> {
  const { retryJobs } = await import('@svc/contracts/admin.ts')
  const request = { agent_id: agent ?? null, message_id: message ?? null }
  signal.throwIfAborted()
  if (dryRun === true) return (await ask(retryJobs, { ...request, limit: DRY_LIMIT, dry_run: true })).jobs
  let jobs = 0
  for (let more = true; more; ) {
    signal.throwIfAborted()
    const page = await ask(retryJobs, { ...request, limit: JOBS_PER_CALL, dry_run: false })
    jobs += page.jobs
    more = page.more
  }
  return jobs
}

const LONG_MS = 60_000
/** A count ends here. */
const DRY_LIMIT = 10_000

const HEAD = ['agent', 'host', 'pending', 'due', 'oldest due', 'failed', 'can be retried', '']

function cellsOf(webhook: WebhookJobs): string[] {
  const { agent_id, host, pending, due, oldest_due_seconds, failed, retryable, struggling } = webhook
  const oldest = due === 0 ? '' : `${oldest_due_seconds.toFixed(0)} s`
  return [
    agent_id,
    host ?? 'none',
    String(pending),
    String(due),
    oldest,
    String(failed),
    String(retryable),
    struggling ? 'the last attempt failed' : '',
  ]
}
