/** A service with a loop that has failed. */
import { readConnections } from '@svc/config/connections.ts'
import { envReader } from '@svc/config/env-reader.ts'
import type { Loop } from '../src/loop.ts'
import { runService } from '../src/run-service.ts'
import { startService } from '../src/start-service.ts'

const loop: Loop = {
  name: 'hanging',
  failed: Promise.resolve(new Error('the loop hanging has failed: too many of its passes hang')),
  wake() {},
  isStalled: () => true,
  async [Symbol.asyncDispose]() {},
}
await runService(() =>
  startService({
    name: 'budget',
    config: readConnections(envReader(process.env)),
    schemaDir: new URL('../../../services/budget/database/', import.meta.url),
    build: () => ({ endpoints: [], loops: [loop] }),
  }),
)
