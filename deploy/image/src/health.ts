/**
 * `node deploy/image/src/health.ts` asks the process of this container whether it is ready, for runtimes that know no
 * probes over HTTP: exit code 0 for yes, else 1. It asks `127.0.0.1`, on `SVC_METRICS_PORT`.
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
