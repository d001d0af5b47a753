import { createHash, createHmac, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { StartError } from './start-error.ts'
import { NATS_LOGINS, type NatsLogin } from './topology.ts'

/** What the stack makes up for itself, from one random key. */
export interface Secrets {
  /** Of the embedded Postgres's superuser. */
  readonly superuserPassword: string
  /** `SVC_CHALLENGE_KEY`. */
  readonly challengeKey: string
  /** `SVC_WEBHOOK_SECRET_KEY`. */
  readonly webhookSecretKey: string
  readonly natsPasswords: Readonly<Record<NatsLogin, string>>
  rolePassword(role: string): string
}

const KEY = /^[0-9a-f]{64}$/

/**
 * Reads `<folder>/secret.key`, or makes it, whole and on the disk before anything depends on it.
 * @throws StartError where data of an earlier key is there without it.
 */
export async function loadSecrets(folder: string): Promise<Secrets> {
  const file = join(folder, 'secret.key')
  if (!existsSync(file)) {
    if (existsSync(join(folder, 'postgres'))) {
      throw new StartError(
        `${file} is gone and the data in ${folder} needs it: put it back, or move the folder away to begin anew.`,
      )
    }
    await writeDurably(file, randomBytes(32).toString('hex'))
  }
  const key = readFileSync(file, 'utf8').trim()
  if (!KEY.test(key))
    throw new StartError(`${file} does not hold a key of 64 hexadecimal digits: put it back as it was.`)
  return deriveSecrets(key)
}

/** Every secret is its own: none of them tells another, or the key. */
export function deriveSecrets(key: string): Secrets {
  const derive = (purpose: string): string => createHmac('sha256', key).update(purpose).digest('hex')
  // NATS reads passwords from its environment unquoted: they begin with a letter.
  const natsPasswords = Object.fromEntries(NATS_LOGINS.map((login) => [login, `n${derive(`nats ${login}`)}`]))
  return {
    superuserPassword: derive('postgres superuser'),
    challengeKey: derive('challenge key'),
    webhookSecretKey: derive('webhook secret key'),
    natsPasswords: natsPasswords as Record<NatsLogin, string>,
    rolePassword: (role) => derive(`postgres role ${role}`),
  }
}

/**
 * For a Postgres that was there before: roles belong to the whole server, so everyone who uses it must find the same
 * passwords, and who knows its admin's may know them.
 */
export function secretsOfServer(adminUrl: string): Secrets {
  const { username, password, host } = new URL(adminUrl)
  return deriveSecrets(createHash('sha256').update(`${username}:${password}@${host}`).digest('hex'))
}

async function writeDurably(file: string, text: string): Promise<void> {
  const unfinished = `${file}.new`
  const handle = await open(unfinished, 'w', 0o600)
  try {
    await handle.writeFile(`${text}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  renameSync(unfinished, file)
}
