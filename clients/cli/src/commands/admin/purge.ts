import type { purgeExpired as purgeCall } from '@svc/contracts/admin.ts'
import type { ReplyOf } from '@svc/contracts/define.ts'
import type { Command } from 'commander'
import { columns } from '../../output/output.ts'
import { type AdminGroup, type ChangeOptions, changeOf, DRY_RUN, operate, REASON } from './group.ts'

type Purged = ReplyOf<typeof purgeCall>

export function addPurge({ group, io }: AdminGroup): void {
  group
    .command('purge')
    .option(...REASON)
    .option(...DRY_RUN)
    .description(
      'remove expired data now; clients no longer see it, and the service itself removes it soon after the end of its partition',
    )
    .addHelpText('after', '\nExamples:\n  svc admin purge --dry-run\n  svc admin purge --reason "the disk fills"')
    .action(async (options: ChangeOptions, command: Command) => {
      const change = changeOf(options)
      const dryRun = change.dry_run
      await operate(io, command, async ({ ask }, { out, signal }) => {
        const { purgeExpired } = await import('@svc/contracts/admin.ts')
        const total: Purged = { partitions: 0, requests: 0, fences: 0, more: true }
        while (total.more) {
          signal.throwIfAborted()
          const batch = await ask(purgeExpired, change)
          for (const kind of KINDS) total[kind] += batch[kind]
          total.more = batch.more
          if (dryRun) break
        }
        const { more, ...counts } = total
        const shown = Object.fromEntries(KINDS.map((kind) => [NAMES[kind], counts[kind]]))
        const said = dryRun ? `would remove${more ? ' at least' : ''}` : 'removed'
        out.print({ ...counts, more, dry_run: dryRun }, [`${said}:`, ...columns(shown)])
      })
    })
}

const NAMES = {
  partitions: 'partitions',
  requests: 'pending requests',
  fences: 'fences',
} as const
const KINDS = Object.keys(NAMES) as (keyof typeof NAMES)[]
