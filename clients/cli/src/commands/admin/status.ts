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
/** Moves the cursor home and clears everything below it. This flickers less than clearing the screen first. */
const REDRAW = '\u001b[H\u001b[J'

export function addStatus({ group, io, setExitCode }: AdminGroup): void {
  group
    .command('status')
    .option('--once', 'show the status once, with the rates of one second; the default')
    .option(
      '--watch [seconds]',
      `refresh at this interval until interrupted (default ${WATCH_SECONDS})`,
      wholeNumber(1, 3_600),
    )
    .option('--processes', 'add a line for each process')
    .description(
      'services with their processes, versions and rates, and the queues; exits with 1 if a service has no process',
    )
    .addHelpText(
      'after',
      `
Rates count calls, and HTTP requests for a gateway. One NATS message may carry many calls. A call has failed if it ended
with an internal error or unavailable; refusals do not count. The lines for streams and webhooks come from one process.

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
