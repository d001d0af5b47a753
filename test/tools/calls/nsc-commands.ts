/**
 * `npx pnpm nats:users`: prints a command of `nsc` for each user of deploy/nats/users.conf, so that this table also sets
 * the permissions on a NATS in operator mode.
 */
import { readFileSync } from 'node:fs'
import { readCommandLine } from '../../support/run/command-line.ts'
import { readRights } from './read-calls.ts'

const USERS_CONF = new URL('../../../deploy/nats/users.conf', import.meta.url)

/** The permissions in a user's JWT. */
interface Permissions {
  readonly pub: { readonly allow: string[] }
  readonly sub: { readonly allow: string[] }
}

if (import.meta.main) {
  readCommandLine({
    command: 'npx pnpm nats:users',
    does: 'Prints the commands of nsc that make the users of deploy/nats/users.conf in the account SVC.',
    options: {},
  })
  console.log(nscCommands(readPermissions()).join('\n'))
}

/**
 * @returns the permissions by user.
 * @throws Error if a list is empty, because an empty list in a JWT allows everything.
 */
export function readPermissions(usersConf = readFileSync(USERS_CONF, 'utf8')): ReadonlyMap<string, Permissions> {
  return new Map(
    [...readRights(usersConf)].map(([user, { publish, subscribe }]) => {
      if (publish.length === 0 || subscribe.length === 0)
        throw new Error(`deploy/nats/users.conf: ${user} has an empty list, which in a JWT would allow everything`)
      return [user, { pub: { allow: [...publish] }, sub: { allow: [...subscribe] } }]
    }),
  )
}

export function nscCommands(permissions: ReadonlyMap<string, Permissions>): string[] {
  return [...permissions].map(([user, { pub, sub }]) => {
    const lists = `--allow-pub '${pub.allow.join(',')}' --allow-sub '${sub.allow.join(',')}'`
    return `nsc add user --account SVC --name ${user} ${lists}`
  })
}
