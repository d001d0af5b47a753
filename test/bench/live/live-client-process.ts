import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { LiveOrder, LiveReport } from './live-client.ts'

export interface LiveOptions {
  connections: number
  rounds: number
  secondsPerRound: number
}

/** The process that reads streams and sends, so that this one only measures. */
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
