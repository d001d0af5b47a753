/** State and helpers of all steps of a start. */

import type { Mark } from '@svc/processes/marks.ts'
import type { LocalConfig } from '../config.ts'
import type { Secrets } from '../engines/secrets.ts'
import type { LogEvent } from '../output/log-lines.ts'

export interface StackOptions {
  config: LocalConfig
  /** The launcher's environment. Every service gets it, with its own credentials instead of the launcher's. */
  env: NodeJS.ProcessEnv
  /** Called with every event of every process and of the launcher. */
  log: (process: string, event: LogEvent) => void
  /** When this is aborted, nothing more is started, and everything that was started is stopped. */
  signal: AbortSignal
  /** When this is aborted, processes get no time to finish. */
  force: AbortSignal
}

/** The state of a run, from its first process on. */
export interface Run extends StackOptions {
  readonly mark: Mark
  readonly secrets: Secrets
  /** Everything that was started. Stopped in the opposite order. */
  readonly started: AsyncDisposableStack
  /** Aborted with a sentence if an engine ends by itself. */
  readonly engineLost: AbortController
}

export const INFO = 30
export const WARN = 40

/** Settles with the reason why `signal` is aborted. */
export function reasonOf(signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(String(signal.reason))
    else signal.addEventListener('abort', () => resolve(String(signal.reason)))
  })
}

export function say({ log }: Pick<StackOptions, 'log'>, level: number, message: string): void {
  log('stack', { timeMs: Date.now(), level, message, fields: {} })
}
