/** A service whose call causes two unhandled errors: a rejection, and an exception while the process drains because of it. */
import { readConnections } from '@svc/config/connections.ts'
import { envReader } from '@svc/config/env-reader.ts'
import { release } from '@svc/contracts/budget.ts'
import { handle } from '@svc/nats/serve.ts'
import { runService } from '../src/run-service.ts'
import { startService } from '../src/start-service.ts'

await runService(() =>
  startService({
    name: 'budget',
    config: readConnections(envReader(process.env)),
    schemaDir: new URL('../../../services/budget/database/', import.meta.url),
    build: () => ({ endpoints: [handle(release, leaveErrors)], loops: [] }),
  }),
)

async function leaveErrors(): Promise<Record<never, never>> {
  await untilUnhandled(() => Promise.reject(new Error('the first that nobody handles')))
  await untilUnhandled(() => {
    throw new Error('the second that nobody handles')
  })
  return {}
}

async function untilUnhandled(fail: () => unknown): Promise<void> {
  const noted = new Promise((resolve) => process.once('uncaughtException', resolve))
  setImmediate(fail)
  await noted
}
