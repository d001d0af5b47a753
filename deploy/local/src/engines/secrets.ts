import { createHash, createHmac, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { parseDatabaseUrl } from '@svc/config/database-url.ts'
import { StartError } from '../start-error.ts'
import { NATS_LOGINS, type NatsLogin } from '../topology.ts'

/** The secrets that the stack generates, all from one random key. */
export interface Secrets {
  /** The password of the embedded Postgres's superuser. */
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
 * Reads `<folder>/secret.key`, or creates it atomically and durably before anything depends on it.
 * @throws StartError if the key is missing but data of an earlier key exists.
 */
export async function loadSecrets(folder: string): Promise<Secrets> {
  const file = join(folder, 'secret.key')
  if (!existsSync(file)) {
    if (existsSync(join(folder, 'postgres'))) {
      throw new StartError(
        `${file} is gone, but the data in ${folder} needs it: put it back, or move the folder away to start from scratch.`,
      )
    }
    await writeDurably(file, randomBytes(32).toString('hex'))
  }
  const key = readFileSync(file, 'utf8').trim()
  if (!KEY.test(key))
    throw new StartError(`${file} does not hold a key of 64 hexadecimal digits: put it back as it was.`)
  return deriveSecrets(key)
}

/** Derives every secret separately, so that none of them reveals another or the key. */
export function deriveSecrets(key: string): Secrets {
  const derive = (purpose: string): string => createHmac('sha256', key).update(purpose).digest('hex')
  // NATS reads passwords unquoted from its environment, so they must begin with a letter.
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
 * For a Postgres that already exists. Roles belong to the whole server, so every stack that uses it must derive the same
 * passwords. They need not be secret from the holder of the admin's password.
 */
export function secretsOfServer(adminUrl: string): Secrets {
  const { user, password, server } = parseDatabaseUrl(adminUrl)
  return deriveSecrets(createHash('sha256').update(`${user}:${password}@${server}`).digest('hex'))
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
