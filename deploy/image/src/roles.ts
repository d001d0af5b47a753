/**
 * `node roles.js <service>` creates or updates the service's schema and roles, and sets their passwords.
 * `SVC_DATABASE_URL` is the URL of a role that may create roles, and of the service's database. The service logs in with
 * `SVC_DATABASE_PASSWORD`, its migrations with `SVC_DATABASE_OWNER_PASSWORD`. With `SVC_DATABASE_PASSWORD_B` the service gets a
 * second login, `<service>_b`, so that passwords can change while it runs (docs/operating/rotate.md). `SVC_DATABASE_LOGIN` names
 * the first login, if it is not `<service>`.
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
  const hasSecond = ['SVC_DATABASE_PASSWORD_B', 'SVC_DATABASE_PASSWORD_B_FILE'].some((one) => e.optional(one))
  const second = hasSecond ? e.secret('SVC_DATABASE_PASSWORD_B', { minLength: MIN_PASSWORD_LENGTH }) : undefined
  const ownerPassword = e.secret('SVC_DATABASE_OWNER_PASSWORD', { minLength: MIN_PASSWORD_LENGTH })
  if (login === `${store}_owner`) e.fail('SVC_DATABASE_LOGIN', "must not be the owner's")
  e.check()
  const passwords = new Map([[login, password]])
  if (second !== undefined) passwords.set(`${login}_b`, second)
  await prepareRoles({
    adminUrl,
    stores: [store],
    loginsOf: () => [...passwords.keys()],
    log: (line) => say('roles', { line }),
    passwordOf: (role) => passwords.get(role) ?? ownerPassword,
  })
  say('roles prepared', { store, logins: [...passwords.keys()].join() })
})
