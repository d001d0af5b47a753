/** Changes one secret in the folder of secrets.ts. docs/operating/rotate.md says how the change reaches the processes. */
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { changeDatabaseUrl, parseDatabaseUrl } from '@svc/config/database-url.ts'
import { ConfigError } from '@svc/config/env-reader.ts'

/** NATS reads passwords without quotes, so a password has only letters and digits and begins with a letter. */
export function newPassword(): string {
  return `n${randomBytes(24).toString('hex')}`
}

export function newKey(): string {
  return randomBytes(32).toString('hex')
}

/** The steps of a key that may be a list: all processes know the new key, then they use it, then they forget the old one. */
export const STEPS = ['add', 'use', 'drop'] as const
export type Step = (typeof STEPS)[number]

const FORMS =
  'name one of <service>/nats-url, <store>/database-url, <store>-owner/database-url, postgres/password, nats/route, identity/challenge-key and webhook/webhook-secret-key'

/**
 * @param name `<secret>/<key>`. @param step only for the two keys that may be lists.
 * @throws ConfigError that says what to do, if there is no such secret or the step does not fit.
 */
export function rotateSecret(folder: string, name: string, step: Step | undefined): void {
  const file = new SecretFolder(folder)
  const [secret = '', key = '', ...rest] = name.split('/')
  const isList = name === 'identity/challenge-key' || name === 'webhook/webhook-secret-key'
  if (rest.length > 0 || !file.has(name)) throw new ConfigError(`${name} is not in ${folder}: ${FORMS}`)
  if (isList !== (step !== undefined))
    throw new ConfigError(isList ? `--step is not set: write ${STEPS.join(', ')}` : `--step is not for ${name}`)
  if (step !== undefined) file.write(name, stepOf(name, file.read(name), step))
  else if (key === 'nats-url') file.moveLogin(name, secret, (user) => `nats/${user.replace('_', '-')}`)
  else if (key === 'database-url' && secret.endsWith('-owner')) file.changeOwner(name, secret.replace(/-owner$/, ''))
  else if (key === 'database-url') file.moveLogin(name, secret, (user) => passwordFile(secret, user))
  else if (name === 'postgres/password') file.changeAdministrator()
  else if (name === 'nats/route') file.write(name, newPassword())
  else throw new ConfigError(`${name} is not changed by itself: ${FORMS}`)
}

function passwordFile(store: string, user: string): string {
  return `${store}-roles/${user === store ? 'password' : 'password-b'}`
}

function stepOf(name: string, text: string, step: Step): string {
  const keys = text.split(',').map((key) => key.trim())
  const [first, second] = keys
  const has = (count: number): void => {
    if (keys.length !== count)
      throw new ConfigError(
        `${name} has ${keys.length} keys: --step ${step} is for ${count}. The steps are ${STEPS.join(', ')}`,
      )
  }
  has(step === 'add' ? 1 : 2)
  if (step === 'add') return `${first},${newKey()}`
  return step === 'use' ? `${second},${first}` : `${first}`
}

/** The login in a URL of NATS. With several servers, each has the same. */
const LOGIN = /\/\/([^:@/]*)(?::[^@/]*)?@/

class SecretFolder {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  has(name: string): boolean {
    return existsSync(join(this.#folder, name))
  }

  read(name: string): string {
    return readFileSync(join(this.#folder, name), 'utf8').trimEnd()
  }

  /** In one step, so that a crash leaves the old or the new text. */
  write(name: string, text: string): void {
    const path = join(this.#folder, name)
    writeFileSync(`${path}.new`, text, { mode: 0o444 })
    renameSync(`${path}.new`, path)
  }

  /** Gives the login that is not in use a new password, and moves the URL to it. The login in use stays valid. */
  moveLogin(name: string, owner: string, passwordOf: (user: string) => string): void {
    const text = this.read(name)
    const user = userOf(text)
    if (user !== owner && user !== `${owner}_b`)
      throw new ConfigError(`${name} has the user ${user}: this command knows only ${owner} and ${owner}_b`)
    const next = user === owner ? `${owner}_b` : owner
    const password = newPassword()
    // First the password, so that after a crash the URL does not name a password that the server never gets.
    this.write(passwordOf(next), password)
    this.write(name, withLogin(text, next, password))
  }

  changeOwner(name: string, store: string): void {
    const password = newPassword()
    this.write(`${store}-roles/owner-password`, password)
    this.write(name, withLogin(this.read(name), `${store}_owner`, password))
  }

  changeAdministrator(): void {
    const password = newPassword()
    this.write('postgres/password', password)
    for (const secret of readdirSync(this.#folder).filter((one) => one.endsWith('-roles'))) {
      const name = `${secret}/admin-url`
      const text = this.read(name)
      this.write(name, withLogin(text, userOf(text), password))
    }
  }
}

function isDatabase(url: string): boolean {
  return url.startsWith('postgres')
}

function userOf(url: string): string {
  return isDatabase(url) ? parseDatabaseUrl(url).user : (LOGIN.exec(url)?.[1] ?? '')
}

function withLogin(url: string, user: string, password: string): string {
  if (isDatabase(url)) return changeDatabaseUrl(url, { user, password })
  return url.replace(new RegExp(LOGIN, 'g'), `//${user}:${password}@`)
}
