import type { OutboxEntry } from '@svc/contracts/admin.ts'
import type { Command } from 'commander'
import { wholeNumber } from '../../arguments.ts'
import { time } from '../../output/format.ts'
import { columns, table } from '../../output/output.ts'
import { type AdminGroup, DRY_RUN, operate } from './group.ts'

interface ShowOptions {
  readonly limit: number
  readonly before?: number
}

const MAX_ID = Number.MAX_SAFE_INTEGER
const ROWS_PER_CALL = 1_000

export function addOutbox({ group, io }: AdminGroup): void {
  const outbox = group
    .command('outbox')
    .description('show accepted messages on their way to JetStream, and publish rows again')
    .addHelpText('after', '\nExample:\n  svc admin outbox')
  outbox
    .command('show', { isDefault: true })
    .description('rows that wait to be published, and the newest rows with their JetStream sequences')
    .option('--limit <n>', 'rows to show', wholeNumber(0, 1_000), 20)
    .option('--before <id>', 'only rows older than this one', wholeNumber(1, MAX_ID))
    .addHelpText('after', '\nExamples:\n  svc admin outbox\n  svc admin outbox --limit 100 --json | jq .unpublished')
    .action(async ({ limit, before }: ShowOptions, command: Command) => {
      await operate(io, command, async ({ ask }, { out }) => {
        const { inspectOutbox } = await import('@svc/contracts/admin.ts')
        const state = await ask(inspectOutbox, { before: before ?? null, limit })
        const { unpublished, oldest_unpublished_seconds: seconds, oldest_unpublished: oldest, rows } = state
        out.print(state, [
          ...columns({
            'to publish': unpublished,
            oldest: oldest === null ? 'none' : `row ${oldest.id}, waiting for ${seconds.toFixed(1)} s`,
          }),
          ...(rows.length === 0 ? [] : ['', ...table([HEAD, ...rows.map(cellsOf)])]),
        ])
      })
    })
  outbox
    .command('republish')
    .argument('<from>', 'id of the first row', wholeNumber(1, MAX_ID))
    .argument('<to>', 'id of the last row', wholeNumber(1, MAX_ID))
    .option(...DRY_RUN)
    .description('publish rows again; safe to repeat, because readers of the stream recognize an event by its cursor')
    .addHelpText(
      'after',
      `
The system does this by itself if JetStream has lost events that it acknowledged. Rows are kept for a day.

Examples:
  svc admin outbox republish 1200 1300 --dry-run
  svc admin outbox republish 1200 1300`,
    )
    .action(async (from: number, to: number, options: { dryRun?: boolean }, command: Command) => {
      const dryRun = options.dryRun === true
      await operate(io, command, async ({ ask }, { out, signal }) => {
        const { republish } = await import('@svc/contracts/admin.ts')
        const total = { rows: 0, events: 0 }
        for (let at: number | null = from; at !== null; ) {
          signal.throwIfAborted()
          const page: { rows: number; events: number; next: number | null } = await ask(republish, {
            from: at,
            to,
            limit: ROWS_PER_CALL,
            dry_run: dryRun,
          })
          total.rows += page.rows
          total.events += page.events
          at = page.next
        }
        const what = `${total.rows} rows with ${total.events} events`
        out.print({ ...total, dry_run: dryRun }, [
          dryRun ? `would publish ${what} again` : `${what} will be published again`,
        ])
      })
    })
}

const HEAD = ['row', 'events', 'committed', 'published', 'up to sequence']

function cellsOf({ id, events, created_at, published_at, last_sequence }: OutboxEntry): string[] {
  const published = published_at === null ? 'not yet' : time(published_at)
  return [String(id), String(events), time(created_at), published, last_sequence === null ? '' : String(last_sequence)]
}
