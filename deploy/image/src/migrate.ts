/**
 * `node migrate.js <service>` migrates the service's schema as its owner. `SVC_DATABASE_URL` is the owner's
 * URL. Safe to run again, and several times at once.
 */
import { readDirectDatabaseUrl } from '@svc/config/connections.ts'
import { envReader } from '@svc/config/env-reader.ts'
import { migrate } from '@svc/postgres/migration/migrate.ts'
import { runCommand } from './run-command.ts'
import { parseStore, schemaDirOf } from './store.ts'

await runCommand(async ({ args, env, say }) => {
  const e = envReader(env)
  const url = readDirectDatabaseUrl(e)
  const store = parseStore(args)
  e.check()
  await migrate({ url, schema: store, dir: schemaDirOf(store), log: (line) => say('migration', { line }) })
  say('migrated', { store })
})
