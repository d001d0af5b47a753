/** An owner (owner.ts) for tests to kill. It runs the plan of `OWNER_PLAN` and `OWNER_PURGE_AFTER_MS`, and prints the owner's output. */
import { untilSignal } from '@svc/service/run-service.ts'
import { startOwner } from './owner.ts'

const { SVC_NATS_URL = '', SVC_DATABASE_URL = '', OWNER_PLAN = '[]', OWNER_PURGE_AFTER_MS } = process.env
const stop = untilSignal('SIGTERM')
const settings = {
  natsUrl: SVC_NATS_URL,
  databaseUrl: SVC_DATABASE_URL,
  plan: JSON.parse(OWNER_PLAN),
  purgeAfterMs: OWNER_PURGE_AFTER_MS === undefined ? undefined : Number(OWNER_PURGE_AFTER_MS),
}
await using _owner = await startOwner(settings, console.log)
await stop
