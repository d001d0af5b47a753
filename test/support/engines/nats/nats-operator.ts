/** NATS in operator mode, as `nsc` would set it up: the users of deploy/nats/users.conf, each with a JWT instead of a password. */
import {
  createAccount,
  createOperator,
  createUser,
  encodeAccount,
  encodeOperator,
  encodeUser,
  fmtCreds,
} from '@nats-io/jwt'
import { readPermissions } from '../../../tools/calls/nsc-commands.ts'

interface NatsOperator {
  /** The configuration of a server with these accounts. */
  readonly config: string
  /** The text of a `.creds` file with a new key. */
  credsFor(user: string, options?: { expiresAt?: number }): Promise<string>
}

const UNLIMITED = { subs: -1, data: -1, payload: -1, conn: -1, leaf: -1, imports: -1, exports: -1, wildcards: true }
const JETSTREAM = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 }

export async function createNatsOperator(): Promise<NatsOperator> {
  const [operator, system, account] = [createOperator(), createAccount(), createAccount()]
  const permissions = readPermissions()
  const encode = (name: string, key: typeof account, limits: object): Promise<string> =>
    encodeAccount(name, key, { limits: limits as never }, { signer: operator })
  return {
    config: [
      `operator: ${await encodeOperator('operator of a test', operator)}`,
      `system_account: ${system.getPublicKey()}`,
      'resolver: MEMORY',
      'resolver_preload: {',
      `  ${system.getPublicKey()}: ${await encode('SYS', system, UNLIMITED)}`,
      `  ${account.getPublicKey()}: ${await encode('SVC', account, { ...UNLIMITED, ...JETSTREAM })}`,
      '}',
    ].join('\n'),
    async credsFor(user, { expiresAt } = {}) {
      const key = createUser()
      const jwt = await encodeUser(
        user,
        key,
        account,
        permissions.get(user),
        expiresAt === undefined ? {} : { exp: expiresAt },
      )
      return new TextDecoder().decode(fmtCreds(jwt, key))
    },
  }
}
