import type { EnvReader } from './env-reader.ts'
import { isKeyOf, NATS_FILES, type NatsFile, readNatsFile } from './nats-files.ts'
import { type NatsUrl, parseNatsUrl } from './nats-url.ts'

/** The address and login of NATS. The URL is secret, because it may contain a password. */
export interface NatsConfig {
  natsUrl: string
  /** Undefined if the URL contains everything. */
  natsAccess?: NatsAccess | undefined
}

/** Settings that the URL cannot hold. */
export interface NatsAccess {
  /** Names the inbox, `_INBOX_<user>`. Also the login if the password is in a file. Default: the user in the URL. */
  readonly user?: string | undefined
  /** Paths of files, by variable. */
  readonly files: Readonly<Partial<Record<NatsFile, string | undefined>>>
}

/** The login is one of these files, or user and password in the URL, which may be in a file too. */
const LOGIN_FILES = ['SVC_NATS_CREDS_FILE', 'SVC_NATS_NKEY_FILE', 'SVC_NATS_PASSWORD_FILE'] as const
export const TLS_FILES = ['SVC_NATS_CA_FILE', 'SVC_NATS_CERT_FILE', 'SVC_NATS_KEY_FILE'] as const
const USER = /^[A-Za-z0-9_-]+$/

/** @returns the variable that names the file with the login; undefined if the login is in the environment. */
export function loginFileOf(
  files: NatsAccess['files'],
): (typeof LOGIN_FILES)[number] | 'SVC_NATS_URL_FILE' | undefined {
  return ([...LOGIN_FILES, 'SVC_NATS_URL_FILE'] as const).find((variable) => files[variable] !== undefined)
}

/** Collects mistakes for the reader's `check()`. */
export function readNatsAccess(env: EnvReader, natsUrl: string): NatsAccess | undefined {
  const url = parseIfValid(natsUrl)
  const hasLoginInUrlFile = env.optional('SVC_NATS_URL') === undefined && url !== undefined && url.password !== ''
  const paths = NATS_FILES.flatMap((variable) => {
    const path = env.optional(variable)
    const isUsed = path !== undefined && (variable !== 'SVC_NATS_URL_FILE' || hasLoginInUrlFile)
    return isUsed ? [[variable, path] as const] : []
  })
  const user = env.optional('SVC_NATS_USER')
  if (user === undefined && paths.length === 0) return undefined
  if (user !== undefined && !USER.test(user))
    env.fail('SVC_NATS_USER', `is ${user}, which has more than letters, digits, _ and -`)
  const access = { user, files: Object.fromEntries(paths) as NatsAccess['files'] }
  checkFiles(env, access)
  checkTls(env, access, url)
  checkLogin(env, access, url)
  return access
}

/** The mistakes of the URL itself are reported by its own reader. */
function parseIfValid(natsUrl: string): NatsUrl | undefined {
  try {
    return parseNatsUrl(natsUrl)
  } catch {
    return undefined
  }
}

function checkFiles(env: EnvReader, { files }: NatsAccess): void {
  const texts = new Map<NatsFile, string>()
  for (const variable of NATS_FILES) {
    const path = files[variable]
    if (path === undefined || variable === 'SVC_NATS_URL_FILE') continue // the URL has been read already
    try {
      texts.set(variable, readNatsFile(variable, path))
    } catch (error) {
      env.fail(variable, (error as TypeError).message)
    }
  }
  const [cert, key] = [texts.get('SVC_NATS_CERT_FILE'), texts.get('SVC_NATS_KEY_FILE')]
  if (cert !== undefined && key !== undefined && !isKeyOf(cert, key))
    env.fail('SVC_NATS_KEY_FILE', `is ${files.SVC_NATS_KEY_FILE}, which is not the key of SVC_NATS_CERT_FILE`)
}

function checkTls(env: EnvReader, { files }: NatsAccess, url: NatsUrl | undefined): void {
  const { SVC_NATS_CERT_FILE: cert, SVC_NATS_KEY_FILE: key } = files
  if (cert !== undefined && key === undefined)
    env.fail('SVC_NATS_CERT_FILE', `is ${cert}, but SVC_NATS_KEY_FILE is not set`)
  if (key !== undefined && cert === undefined)
    env.fail('SVC_NATS_KEY_FILE', `is ${key}, but SVC_NATS_CERT_FILE is not set`)
  if (url?.tls !== false) return
  for (const variable of TLS_FILES) {
    if (files[variable] === undefined) continue
    env.fail(variable, `is ${files[variable]}, but SVC_NATS_URL has nats:// and so no TLS: write tls:// there`)
  }
}

function checkLogin(env: EnvReader, { user, files }: NatsAccess, url: NatsUrl | undefined): void {
  const [first, second] = LOGIN_FILES.filter((variable) => files[variable] !== undefined)
  if (second !== undefined) env.fail(second, `is ${files[second]}, but ${first} is set as well: keep one of them`)
  if (url === undefined) return
  if (user !== undefined && url.user !== '' && user !== url.user)
    env.fail('SVC_NATS_USER', `is ${user}, but SVC_NATS_URL names the user ${url.user}: keep one of them`)
  if (first === undefined) return
  if (url.password !== '')
    env.fail(first, `is ${files[first]}, but SVC_NATS_URL has a password as well: keep one of them`)
  if (user === undefined && url.user === '')
    env.fail('SVC_NATS_USER', `is not set, but ${first} needs it: write the name of the user, e.g. messaging`)
}
