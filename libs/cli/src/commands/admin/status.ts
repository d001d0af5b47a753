import type { Command } from 'commander'
import { wholeNumber } from '../../arguments.ts'
import { EXIT } from '../../exit-codes.ts'
import { type AdminGroup, operate } from './group.ts'

interface StatusOptions {
  readonly once?: boolean
  readonly watch?: number | true
  readonly processes?: boolean
}

const ONCE_MS = 1_000
const WATCH_SECONDS = 2
/** Home, and what is below the cursor away: less flicker than clearing first. */
const REDRAW = '\u001b[H\u001b[J'

export function addStatus({ group, io, setExitCode }: AdminGroup): void {
  group
    .command('status')
    .option('--once', 'one look, with the rates of a second; the default')
    .option(
      '--watch [seconds]',
      `again every so many seconds, until interrupted (default ${WATCH_SECONDS})`,
      wholeNumber(1, 3_600),
    )
    .option('--processes', 'a line for each process')
    .description(
      'services, their processes, versions and rates, and what waits; exits with 1 where a service is not there',
    )
    .addHelpText(
      'after',
      `
Rates are calls, of which one message on NATS may carry many, and for a gateway HTTP requests. Failed is what ended in a
fault or with something away; refusals are not. Streams and webhooks are as one process of the service sees them.

Examples:
  svc admin status
  svc admin status --watch 5 --processes
  svc admin status --json`,
    )
    .action(async ({ once, watch, processes = false }: StatusOptions, command: Command) => {
      const watching = watch !== undefined && once !== true
      const intervalMs = watching ? (watch === true ? WATCH_SECONDS : watch) * 1_000 : ONCE_MS
      await operate(io, command, async (operator, { out, signal }) => {
        const { watchStatus } = await import('../../admin/system-status.ts')
        const { statusLines } = await import('../../admin/status-table.ts')
        const redraw = watching && !out.json && io.stdout.columns !== undefined
        const watch = async () => {
          for await (const status of watchStatus(operator, intervalMs, signal)) {
            if (redraw) out.raw(REDRAW)
            out.print(status, statusLines(status, processes))
            if (watching) continue
            if (status.missing.length > 0) setExitCode(EXIT.refused)
            return
          }
        }
        await (watching ? out.list(watch) : watch())
      })
    })
}
