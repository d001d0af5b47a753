/**
 * `node health.js` checks whether the process of this container is ready, for runtimes without HTTP
 * probes. Exit code 0 means ready, any other means not ready. Calls `127.0.0.1` on port `SVC_METRICS_PORT`.
 */
import { envReader } from '@svc/config/env-reader.ts'
import { runCommand } from './run-command.ts'

const LIMIT_MS = 4_000

await runCommand(async ({ env }) => {
  const e = envReader(env)
  const port = e.int('SVC_METRICS_PORT', { min: 1, max: 65_535 })
  e.check()
  const { status } = await fetch(`http://127.0.0.1:${port}/ready`, { signal: AbortSignal.timeout(LIMIT_MS) })
  if (status !== 200) throw new Error(`not ready: status ${status}`)
})
