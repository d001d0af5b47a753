import type { Ending } from '@svc/local/child.ts'
import { type LogEvent, parseLogLine } from '@svc/local/log-lines.ts'
import type { Mark } from '@svc/local/marks.ts'
import { startService } from '@svc/local/services.ts'
import type { ServiceName } from '@svc/local/topology.ts'
import { eventually } from './eventually.ts'

export interface TestProcess {
  /** `messaging-2` */
  readonly name: string
  readonly pid: number | undefined
  /** What it logged so far. */
  readonly log: readonly LogEvent[]
  /** @throws Error with what it logged, when it ended before it was ready. */
  untilReady(): Promise<void>
  /** Sends a signal and waits for the end. */
  kill(signal: NodeJS.Signals): Promise<Ending>
  /** SIGTERM; settles with how it ended, which after a drain is code 0. */
  stop(): Promise<Ending>
  readonly ended: Promise<Ending>
}

const READY_LIMIT_MS = 20_000

/** Starts one process of a service in the test's run: it ends with the run at the latest. */
export function startTestProcess(options: {
  service: ServiceName
  index?: number
  mark: Mark
  env: NodeJS.ProcessEnv
}): TestProcess {
  const log: LogEvent[] = []
  const child = startService({
    index: 1,
    ...options,
    onLine: (line) => log.push(parseLogLine(line, Date.now())),
  })
  let ended: Ending | undefined
  void child.ended.then((ending) => {
    ended = ending
  })
  return {
    name: child.name,
    pid: child.pid,
    log,
    ended: child.ended,
    stop: child.stop,
    async untilReady() {
      const ready = (): boolean => ended !== undefined || log.some(({ message }) => message === 'ready')
      await eventually(ready, { timeoutMs: READY_LIMIT_MS, what: `${child.name} being ready` })
      if (ended === undefined) return
      throw new Error(`${child.name} ended (${ended.reason}): ${log.map(({ message }) => message).join('; ')}`)
    },
    async kill(signal) {
      child.kill(signal)
      return child.ended
    },
  }
}
