import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { LiveOrder, LiveReport } from './live-client.ts'

export interface LiveOptions {
  connections: number
  rounds: number
  secondsPerRound: number
}

/** A child process reads the streams and sends, so that this process only measures. */
export function startClient(): ChildProcess {
  return fork(fileURLToPath(new URL('./live-client.ts', import.meta.url)))
}

export function askClient(client: ChildProcess, order: LiveOrder): Promise<LiveReport> {
  return new Promise((resolve, reject) => {
    const onExit = (): void => reject(new Error('the client ended'))
    client.once('exit', onExit)
    client.once('message', (report: LiveReport) => {
      client.off('exit', onExit)
      resolve(report)
    })
    client.send(order)
  })
}

/** Time until the leases of closed streams are released. */
export const CLOSED_MS = 1_500
/** Time until the work of an earlier step is done. */
export const QUIET_MS = 3_000

export function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
