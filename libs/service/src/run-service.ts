import { format } from 'node:util'
import { ConfigError } from '@svc/config/env-reader.ts'
import { nameSources } from '@svc/telemetry/source-names.ts'

/** The result of a service's `start…`. */
export interface RunningService extends AsyncDisposable {
  /** Settles, with the reason, when the service can no longer work and the process must end (e.g. because NATS is closed for good). */
  readonly failed?: Promise<unknown>
  /** Logs and counts an unhandled exception or rejection. The process then drains and ends. */
  readonly noteUnhandled: (error: unknown) => void
}

/** Upper limit of a drain. The process ends at this limit in any case, before an orchestrator would kill it. */
export const DRAIN_LIMIT_MS = 18_000

/**
 * Runs a service's process: starts, waits for a signal, stops accepting work, finishes, exits with 0. A second signal is
 * ignored. A configuration mistake is one line on stderr and exit code 78 (EX_CONFIG).
 *
 * An unhandled error drains the process like a signal, but with exit code 1, so that a supervisor starts another process.
 * The error may have left broken state behind, but other requests under way still get their answers. Further errors do not
 * end the drain.
 */
export async function runService(start: () => Promise<RunningService>): Promise<void> {
  let code = 0
  let note: RunningService['noteUnhandled'] = print
  const unhandled = new Promise<undefined>((resolve) => {
    // Node also reports an unhandled rejection as this exception.
    process.on('uncaughtException', (error) => {
      code = 1
      resolve(undefined)
      note(error)
    })
  })
  const stop = Promise.race([untilSignal('SIGTERM', 'SIGINT'), unhandled])
  try {
    // A service that waits for NATS or for its schema has accepted no work, so it can end at once.
    const service = await Promise.race([start(), stop])
    if (service === undefined) return process.exit(code)
    note = service.noteUnhandled
    const reason = await Promise.race([stop, service.failed ?? new Promise<never>(() => {})])
    if (reason !== undefined) {
      print(reason)
      code = 1
    }
    const limit = setTimeout(() => process.exit(1), DRAIN_LIMIT_MS)
    await service[Symbol.asyncDispose]()
    clearTimeout(limit)
  } catch (error) {
    if (error instanceof ConfigError) console.error(error.message)
    else print(error)
    code = error instanceof ConfigError ? 78 : 1
  }
  process.exit(code)
}

function print(error: unknown): void {
  console.error(nameSources(format(error)))
}

/** Settles when the process gets one of these signals. */
export function untilSignal(...signals: NodeJS.Signals[]): Promise<undefined> {
  return new Promise((resolve) => {
    for (const signal of signals) process.on(signal, () => resolve(undefined))
  })
}
