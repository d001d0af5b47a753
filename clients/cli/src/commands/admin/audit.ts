import type { Command } from 'commander'
import type { ServiceAuditEntry } from '../../admin/audit.ts'
import { wholeNumber } from '../../arguments.ts'
import { time } from '../../output/format.ts'
import { table } from '../../output/output.ts'
import { type AdminGroup, operate } from './group.ts'

interface AuditOptions {
  readonly target?: string
  readonly operator?: string
  readonly limit: number
  readonly all?: boolean
  readonly follow?: boolean
}

const DEFAULT_LIMIT = 50

export function addAudit({ group, io }: AdminGroup): void {
  group
    .command('audit')
    .option('--target <id>', 'only changes on this agent, message or board')
    .option('--operator <name>', 'only changes by this operator')
    .option('--limit <number>', 'the newest entries of each service', wholeNumber(1, 1_000), DEFAULT_LIMIT)
    .option('--all', 'all entries, oldest first')
    .option('--follow', 'go on until interrupted, and show each new entry within a second')
    .description('what operators have changed: who, when, what, on whom, why')
    .addHelpText(
      'after',
      `
Each service numbers its own entries in ascending order. If you restart with --all, entries that you already have come again:
recognize them by service and id.

Examples:
  svc admin audit --target <agent_id>
  svc admin audit --all --follow --output ndjson >> audit.ndjson`,
    )
    .action(async (options: AuditOptions, command: Command) => {
      await operate(io, command, async ({ ask }, { out, signal }) => {
        const { readAudit } = await import('../../admin/audit.ts')
        await out.list(async () => {
          let shown = 0
          for await (const entries of readAudit(ask, options, signal)) {
            if (out.json) for (const entry of entries) out.document(entry)
            else if (entries.length > 0)
              out.print(entries, table([...(shown === 0 ? [HEAD] : []), ...entries.map(cellsOf)]))
            shown += entries.length
          }
          if (shown === 0) out.note('no entries')
        })
      })
    })
}

const HEAD = ['when', 'operator', 'service', 'id', 'action', 'on', 'reference', 'result', 'reason']

function cellsOf({
  at_ms,
  operator,
  service,
  id,
  action,
  target,
  reference,
  result,
  reason,
}: ServiceAuditEntry): string[] {
  const figures = Object.entries(result).map(([name, value]) => `${name}=${value}`)
  const on = target ?? 'all'
  return [time(at_ms / 1_000), operator, service, `${id}`, action, on, reference ?? '', figures.join(' '), reason]
}
