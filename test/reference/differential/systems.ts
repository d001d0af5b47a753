/** Both servers of a differential run. */
import { startSystem } from '../../support/system/system.ts'
import { startReference } from '../server.ts'
import { type DifferentialOptions, runDifferential } from './differential.ts'

interface Differential extends AsyncDisposable {
  run(options: DifferentialOptions): Promise<void>
}

const UNLIMITED = { requestsPerSecond: 1e6, requestsBurst: 1e6, registrationsPerSecond: 1e6, registrationsBurst: 1e6 }

/** Starts the service as in production, and the reference server with its authority, so that envelopes have the same bytes. */
export async function startDifferential(): Promise<Differential> {
  await using started = new AsyncDisposableStack()
  const system = started.use(await startSystem())
  const reference = started.use(await startReference({ authority: system.authority, ...UNLIMITED }))
  const running = started.move()
  return {
    run: (options) => runDifferential([system.urls[0] ?? '', reference.url], options),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}
