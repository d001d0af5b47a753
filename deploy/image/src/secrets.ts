/**
 * `node secrets.js <folder>` generates every secret of a deployment, as files `<folder>/<secret>/<key>`.
 * deploy/kubernetes reads them from Secrets, deploy/compose from files. Existing secrets stay unchanged, so it is safe to
 * run again. With `--rotate <secret>/<key>` it first changes this secret (docs/operating/rotate.md).
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { changeDatabaseUrl, parseDatabaseUrl } from '@svc/config/database-url.ts'
import { ConfigError } from '@svc/config/env-reader.ts'
import { newKey, newPassword, rotateSecret, STEPS, type Step } from './rotate-secret.ts'
import { runCommand } from './run-command.ts'
import { listStores } from './store.ts'

const USAGE =
  'usage: secrets.js <folder> [--nats nats:4222 or tls://nats:4222] [--database postgres://postgres@postgres:5432/svc] [--rotate <secret>/<key> [--step add|use|drop]]'

await runCommand(async ({ args, say }) => {
  const { folder, nats, database, rotate, step } = parseCommand(args)
  if (rotate !== undefined) rotateSecret(folder, rotate, step)
  const stores = listStores()
  const lines: string[] = []
  const services = [...stores, 'gateway']
  const secret = (path: string, make: () => string): string => readOrMake(join(folder, path), make)
  const password = (path: string): string => secret(path, newPassword)
  const key = (path: string): string => secret(path, newKey)

  const route = password('nats/route')
  for (const user of [...services, 'admin']) {
    const natsPassword = password(`nats/${user}`)
    lines.push(`SVC_NATS_${user.toUpperCase()}_PASSWORD=${natsPassword}`)
    lines.push(`SVC_NATS_${user.toUpperCase()}_PASSWORD_B=${password(`nats/${user}-b`)}`)
    secret(`${user}/nats-url`, () => `${nats.protocol}//${user}:${natsPassword}@${nats.host}`)
  }
  const urlFor = (user: string, rolePassword: string): string =>
    changeDatabaseUrl(database, { user, password: rolePassword })
  const adminPassword = password('postgres/password')
  for (const store of stores) {
    secret(`${store}-roles/admin-url`, () => urlFor(parseDatabaseUrl(database).user, adminPassword))
    const own = password(`${store}-roles/password`)
    password(`${store}-roles/password-b`)
    const owner = password(`${store}-roles/owner-password`)
    secret(`${store}/database-url`, () => urlFor(store, own))
    secret(`${store}-owner/database-url`, () => urlFor(`${store}_owner`, owner))
  }
  key('identity/challenge-key')
  key('webhook/webhook-secret-key')
  // deploy/nats/users.conf includes the first, in the syntax of NATS. Compose gives NATS the second as its environment.
  writeWhole(join(folder, 'nats/passwords.conf'), `${lines.join('\n')}\n`, 0o444)
  writeWhole(join(folder, 'nats.env'), `${[`SVC_NATS_ROUTE_PASSWORD=${route}`, ...lines].join('\n')}\n`, 0o600)
  say(
    rotate === undefined ? 'secrets are there' : 'the secret is changed',
    rotate === undefined ? { folder } : { folder, rotate },
  )
})

interface Command {
  folder: string
  nats: URL
  database: string
  rotate: string | undefined
  step: Step | undefined
}

function parseCommand(args: readonly string[]): Command {
  try {
    const { positionals, values } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        nats: { type: 'string', default: 'nats:4222' },
        database: { type: 'string', default: 'postgres://postgres@postgres:5432/svc' },
        rotate: { type: 'string' },
        step: { type: 'string' },
      },
    })
    const [folder, ...others] = positionals
    if (folder === undefined || others.length > 0) throw new Error('name exactly one folder')
    const nats = new URL(values.nats.includes('://') ? values.nats : `nats://${values.nats}`)
    if (!['nats:', 'tls:'].includes(nats.protocol)) throw new Error('the URL of NATS must begin with nats:// or tls://')
    const step = STEPS.find((one) => one === values.step)
    if (values.step !== undefined && (step === undefined || values.rotate === undefined))
      throw new Error('--step is add, use or drop, and goes with --rotate')
    return { folder, nats, database: checkDatabase(values.database), rotate: values.rotate, step }
  } catch (error) {
    throw error instanceof ConfigError ? error : new ConfigError(USAGE, { cause: error })
  }
}

/** Refuses here what every process would refuse when it reads the URL. */
function checkDatabase(text: string): string {
  try {
    parseDatabaseUrl(text)
    return text
  } catch (error) {
    throw new ConfigError(`--database ${error instanceof Error ? error.message : String(error)}`)
  }
}

/**
 * The text of the file. Creates the file if it does not exist. Only the owner can enter the folder. The file itself is
 * readable to all, because a container that runs as another user gets this single file.
 */
function readOrMake(file: string, make: () => string): string {
  if (existsSync(file)) return readFileSync(file, 'utf8').trimEnd()
  const text = make()
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writeFileSync(file, text, { mode: 0o444, flag: 'wx' })
  return text
}

/** Replaces the file in one step. */
function writeWhole(file: string, text: string, mode: number): void {
  writeFileSync(`${file}.new`, text, { mode })
  renameSync(`${file}.new`, file)
}
