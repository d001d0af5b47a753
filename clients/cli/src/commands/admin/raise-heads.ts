import type { raiseHeads as raiseHeadsCall } from '@svc/contracts/admin.ts'
import type { ReplyOf } from '@svc/contracts/define.ts'
import type { Command } from 'commander'
import { wholeNumber } from '../../arguments.ts'
import { UsageError } from '../../io.ts'
import { type AdminGroup, type ChangeOptions, changeOf, DRY_RUN, operate, REASON } from './group.ts'

interface RaiseOptions extends ChangeOptions {
  readonly by: number
  readonly reference?: string
}

const LOGS_PER_CALL = 1_000
const CALL_MS = 30_000
const MAX_BY = 1_000_000_000
const MAX_REFERENCE_LENGTH = 200

export function addRaiseHeads({ group, io }: AdminGroup): void {
  group
    .command('raise-heads')
    .option('--by <n>', 'number of positions', wholeNumber(1, MAX_BY), 10_000)
    .option('--reference <text>', 'each reference raises the heads once; default: the date')
    .option(...REASON)
    .option(...DRY_RUN)
    .description(
      'after a restore to an earlier moment, raise the heads of all logs above every cursor that clients have seen',
    )
    .addHelpText(
      'after',
      `
Run it before the gateways start. svc admin restore does it itself. Choose a number above the events that one agent can
have received since that moment. A repeat with the same reference continues an interrupted one, or changes nothing.

Examples:
  svc admin raise-heads --dry-run
  svc admin raise-heads --by 100000 --reference restore-2026-11-27 --reason INC-17`,
    )
    .action(async ({ by, reference = today(), ...options }: RaiseOptions, command: Command) => {
      if (reference.length < 1 || reference.length > MAX_REFERENCE_LENGTH)
        throw new UsageError(`the reference must have 1 to ${MAX_REFERENCE_LENGTH} characters`)
      const change = changeOf(options)
      await operate(io, command, async ({ ask }, { out, signal }) => {
        const { raiseHeads } = await import('@svc/contracts/admin.ts')
        let [raised, last]: [number, ReplyOf<typeof raiseHeadsCall> | undefined] = [0, undefined]
        do {
          signal.throwIfAborted()
          last = await ask(raiseHeads, { reference, by, limit: LOGS_PER_CALL, ...change }, CALL_MS)
          raised += last.raised
        } while (last.more)
        const logs = `the heads of ${raised} ${raised === 1 ? 'log' : 'logs'} by ${by}`
        const said = raised === 0 ? `nothing left to raise with the reference ${reference}` : `raised ${logs}`
        out.print({ raised, logs: last.logs, by, reference, dry_run: change.dry_run }, [
          change.dry_run ? `would raise ${logs}` : said,
        ])
      })
    })
}

function today(): string {
  return new Date().toISOString().slice(0, 10)
}
