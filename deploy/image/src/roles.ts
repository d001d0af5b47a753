/**
 * `node roles.js <service>` creates or updates the service's schema and roles, and sets their passwords.
 * `SVC_DATABASE_URL` is the URL of a role that may create roles, and of the service's database. The service logs in with
 * `SVC_DATABASE_PASSWORD`, its migrations with `SVC_DATABASE_OWNER_PASSWORD`. `SVC_DATABASE_LOGIN` names another login for
 * the service, to change its password while it runs (docs/operating/rotate.md).
 */
import { readDatabaseUrl } from '@svc/config/connections.ts'
import { envReader } from '@svc/config/env-reader.ts'
import { prepareRoles } from '@svc/postgres/migration/roles.ts'
import { runCommand } from './run-command.ts'
import { parseStore } from './store.ts'

const MIN_PASSWORD_LENGTH = 16
const ROLE = /^[a-z][a-z0-9_]{0,62}$/

await runCommand(async ({ args, env, say }) => {
  const e = envReader(env)
  const store = parseStore(args)
  const adminUrl = readDatabaseUrl(e)
  const login = e.string('SVC_DATABASE_LOGIN', {
    default: store,
    pattern: ROLE,
    hint: 'must be a name of lower case letters, digits and _',
  })
  const password = e.secret('SVC_DATABASE_PASSWORD', { minLength: MIN_PASSWORD_LENGTH })
  const ownerPassword = e.secret('SVC_DATABASE_OWNER_PASSWORD', { minLength: MIN_PASSWORD_LENGTH })
  if (login === `${store}_owner`) e.fail('SVC_DATABASE_LOGIN', "must not be the owner's")
  e.check()
  await prepareRoles({
    adminUrl,
    stores: [store],
    loginOf: () => login,
    log: (line) => say('roles', { line }),
    passwordOf: (role) => (role === login ? password : ownerPassword),
  })
  say('roles prepared', { store, login })
})
