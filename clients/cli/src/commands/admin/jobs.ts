import type { WebhookJobs } from '@svc/contracts/admin.ts'
import type { Command } from 'commander'
import type { Operator } from '../../admin/operator.ts'
import { nameOrId } from '../../arguments.ts'
import { UsageError } from '../../io.ts'
import { time } from '../../output/format.ts'
import { table } from '../../output/output.ts'
import { type AdminGroup, agentId, type ChangeOptions, changeOf, DRY_RUN, operate, REASON } from './group.ts'

interface RetryOptions extends ChangeOptions {
  readonly agent?: string | undefined
  readonly message?: string | undefined
  readonly all?: boolean
}

const WEBHOOKS_PER_PAGE = 500
const JOBS_PER_CALL = 1_000

export function addJobs({ group, io }: AdminGroup): void {
  const jobs = group
    .command('jobs')
    .description('show waiting and failed deliveries to webhooks, and retry failed ones')
    .addHelpText('after', '\nExample:\n  svc admin jobs')
  jobs
    .command('show', { isDefault: true })
    .option('--agent <agent_id>', 'only the webhook of this agent', agentId)
    .description('webhooks with waiting or failed jobs')
    .addHelpText('after', '\nExamples:\n  svc admin jobs\n  svc admin jobs --agent <agent_id> --json')
    .action(async ({ agent }: { agent?: string }, command: Command) => {
      await operate(io, command, async ({ ask }, { out, signal }) => {
        const found = await findWebhooks(ask, agent, signal)
        if (out.json)
          await out.list(async () => {
            for (const webhook of found) out.document(webhook)
          })
        else if (found.length > 0) out.print(found, table([HEAD, ...found.map(cellsOf)]))
        if (found.length === 0) out.note(agent === undefined ? 'no waiting or failed jobs' : 'no webhook')
      })
    })
  jobs
    .command('retry')
    .option('--agent <agent_id>', 'retry jobs of this agent', agentId)
    .option('--message <id>', 'retry jobs of this message', nameOrId)
    .option('--all', 'retry all failed jobs')
    .option(...REASON)
    .option(...DRY_RUN)
    .description('retry failed jobs, with a full set of attempts; safe to repeat')
    .addHelpText(
      'after',
      `
A failed job can be retried for three days, unless its message expires or the webhook is replaced before. It keeps its
delivery id, so a receiver recognizes a duplicate.

Examples:
  svc admin jobs retry --agent <agent_id> --dry-run
  svc admin jobs retry --agent <agent_id> --reason 'the receiver is back'
  svc admin jobs retry --all --reason 'the network was down'`,
    )
    .action(async ({ agent, message, all, ...options }: RetryOptions, command: Command) => {
      if (agent === undefined && message === undefined && all !== true) {
        throw new UsageError('no jobs named: use --agent, --message or --all')
      }
      const change = changeOf(options)
      const dryRun = change.dry_run
      await operate(io, command, async ({ ask }, { out, signal }) => {
        const jobs = await retry(ask, { agent, message }, change, signal)
        const count = `${jobs}${dryRun && jobs === DRY_LIMIT ? ' or more' : ''} ${jobs === 1 ? 'job' : 'jobs'}`
        out.print({ jobs, dry_run: dryRun }, [dryRun ? `would retry ${count}` : `${count} will be retried`])
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

/** @returns how many jobs are due again. For a dry run, how many would be. */
async function retry(
  ask: Operator['ask'],
  { agent, message }: Pick<RetryOptions, 'agent' | 'message'>,
  change: ReturnType<typeof changeOf>,
  signal: AbortSignal,
): Promise<number> {
  const { retryJobs } = await import('@svc/contracts/admin.ts')
  const request = { agent_id: agent ?? null, message_id: message ?? null }
  signal.throwIfAborted()
  if (change.dry_run) return (await ask(retryJobs, { ...request, ...change, limit: DRY_LIMIT })).jobs
  let jobs = 0
  for (let more = true; more; ) {
    signal.throwIfAborted()
    const page = await ask(retryJobs, { ...request, ...change, limit: JOBS_PER_CALL })
    jobs += page.jobs
    more = page.more
  }
  return jobs
}

const LONG_MS = 60_000
/** A dry run counts at most this many jobs. */
const DRY_LIMIT = 10_000

const HEAD = ['agent', 'host', 'pending', 'due', 'oldest due', 'failed', 'can be retried', 'last error']

function cellsOf(webhook: WebhookJobs): string[] {
  const { agent_id, host, pending, due, oldest_due_seconds, failed, retryable, struggling } = webhook
  const { last_error, last_error_at } = webhook
  const oldest = due === 0 ? '' : `${oldest_due_seconds.toFixed(0)} s`
  return [
    agent_id,
    host ?? 'none',
    String(pending),
    String(due),
    oldest,
    String(failed),
    String(retryable),
    last_error ? `${time(last_error_at ?? 0)}  ${last_error}` : struggling ? 'slow' : '',
  ]
}
