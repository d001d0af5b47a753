/**
 * `npx pnpm nats:users`: prints a command of `nsc` for each user of deploy/nats/users.conf, so that this table also sets
 * the permissions on a NATS in operator mode. With `--operator <name>`: what a new operator needs, in both modes.
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
  const { values } = readCommandLine({
    command: 'npx pnpm nats:users',
    does: 'Prints the commands of nsc that make the users of deploy/nats/users.conf in the account SVC.',
    options: { operator: { kind: 'text', placeholder: 'name', what: 'print what this new operator needs instead' } },
  })
  const lines = values.operator === undefined ? nscCommands(readPermissions()) : operatorLines(values.operator)
  console.log(lines.join('\n'))
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

/** An operator's name is a part of its subjects. `_b` ends the second login of a service. */
const OPERATOR = /^(?!.*_b$)[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/** @returns the lines for users.conf, and the command of nsc. @throws Error if the name cannot be an operator's. */
export function operatorLines(operator: string, permissions = readPermissions()): string[] {
  const model = permissions.get('admin')
  if (model === undefined) throw new Error('deploy/nats/users.conf: there is no MAY_ADMIN')
  if (!OPERATOR.test(operator) || permissions.has(operator))
    throw new Error(
      `${operator} cannot be an operator's name: letters, digits, - and _, not a service's name, no _b at the end`,
    )
  const own = (list: readonly string[]) => list.map((subject) => subject.replace(/\.admin(?=$|\.)/, `.${operator}`))
  const mine = { pub: { allow: own(model.pub.allow) }, sub: { allow: own(model.sub.allow) } }
  const lists = `publish: ${JSON.stringify(mine.pub.allow)}, subscribe: ${JSON.stringify(mine.sub.allow)}`
  return [
    '# users.conf: one of these lines among the users of the account SVC, then reload the servers',
    `{ user: ${operator}, password: "<output of nats server passwd>", permissions: { ${lists} } }`,
    `{ nkey: <public key of nats auth nkey gen user>, permissions: { ${lists} } }`,
    '# operator mode',
    ...nscCommands(new Map([[operator, mine]])),
  ]
}

export function nscCommands(permissions: ReadonlyMap<string, Permissions>): string[] {
  return [...permissions].map(([user, { pub, sub }]) => {
    const lists = `--allow-pub '${pub.allow.join(',')}' --allow-sub '${sub.allow.join(',')}'`
    return `nsc add user --account SVC --name ${user} ${lists}`
  })
}
