/**
 * Logins and certificates from files. They are read again for every connection, so that a rotation needs no restart. The client
 * could read them itself, but it closes for ever if it cannot read a login. `login-watch.ts` notices a changed login earlier.
 */
import { createSecureContext, type SecureContext } from 'node:tls'
import { renewed } from '@svc/config/follow-login.ts'
import { loginFileOf, type NatsAccess, TLS_FILES } from '@svc/config/nats-access.ts'
import { isKeyOf, NATS_FILES, type NatsFile, readNatsFile } from '@svc/config/nats-files.ts'
import { parseNatsUrl } from '@svc/config/nats-url.ts'
import { trustedAuthorities, trustedContext } from '@svc/tls/trust.ts'
import { type Authenticator, credsAuthenticator, nkeyAuthenticator, usernamePasswordAuthenticator } from 'nats'

type Say = (problem: string) => void
type Paths = NatsAccess['files']
/** The contents of the files, by variable. */
type Texts = Partial<Record<NatsFile, string>>

/** A login as it was in its file. */
export interface FileLogin {
  readonly user: string
  readonly authenticate: Authenticator
}

/**
 * @param user the user of the process, if the file does not name it.
 * @returns a function that reads the login again, and returns the same object until the file changes. Undefined if the login is
 *   not in a file.
 * @throws ConfigError if the file cannot be used now.
 */
export function loginFrom({ files }: NatsAccess, user: string, say: Say): (() => FileLogin) | undefined {
  const variable = loginFileOf(files)
  if (variable === undefined) return undefined
  const paths = { [variable]: files[variable] }
  const make = (texts: Texts): FileLogin => {
    const login = fileLoginOf(texts, user)
    if (ownerOf(login.user) !== ownerOf(user))
      throw new TypeError(
        `${variable} is ${files[variable]}, which has the user ${login.user}: a process keeps its user, ${ownerOf(user)} or ${ownerOf(user)}_b`,
      )
    try {
      // Without a server's challenge the authenticator signs nothing, but it throws if the seed is damaged.
      login.authenticate()
    } catch (cause) {
      throw new TypeError(`${variable} is ${files[variable]}, which has a damaged seed`, { cause })
    }
    return login
  }
  return renewed(() => readAll(paths), make, say)
}

/** Each user has a second login, `<user>_b`, with the same rights and inbox (deploy/nats/users.conf). */
export function ownerOf(user: string): string {
  return user.replace(/_b$/, '')
}

/**
 * The trusted authorities, and the certificate of this process. If there is a file of authorities, only these are trusted.
 * @throws ConfigError if a file cannot be used now.
 */
export function contextFrom({ files }: NatsAccess, say: Say): () => SecureContext {
  const used = Object.fromEntries(TLS_FILES.map((variable) => [variable, files[variable]]))
  if (Object.values(used).every((path) => path === undefined)) return trustedContext
  const make = ({ SVC_NATS_CA_FILE: ca, SVC_NATS_CERT_FILE: cert, SVC_NATS_KEY_FILE: key }: Texts): SecureContext => {
    if (cert !== undefined && key !== undefined && !isKeyOf(cert, key))
      throw new TypeError(`SVC_NATS_KEY_FILE is ${used.SVC_NATS_KEY_FILE}, which is not the key of SVC_NATS_CERT_FILE`)
    return createSecureContext({ ca: ca ?? trustedAuthorities(), cert, key })
  }
  return renewed(() => readAll(used), make, say)
}

function fileLoginOf(texts: Texts, user: string): FileLogin {
  const { SVC_NATS_CREDS_FILE: creds, SVC_NATS_NKEY_FILE: seed, SVC_NATS_PASSWORD_FILE: password } = texts
  const encoder = new TextEncoder()
  if (creds !== undefined) return { user, authenticate: credsAuthenticator(encoder.encode(`${creds}\n`)) }
  if (seed !== undefined) return { user, authenticate: nkeyAuthenticator(encoder.encode(seed)) }
  if (password !== undefined) return { user, authenticate: usernamePasswordAuthenticator(user, password) }
  const url = parseNatsUrl(texts.SVC_NATS_URL_FILE ?? '')
  return { user: url.user, authenticate: usernamePasswordAuthenticator(url.user, url.password) }
}

function readAll(paths: Paths): Texts {
  const texts: Texts = {}
  for (const variable of NATS_FILES) {
    const path = paths[variable]
    if (path === undefined) continue
    try {
      texts[variable] = readNatsFile(variable, path)
    } catch (cause) {
      throw new TypeError(`${variable} ${messageOf(cause)}`, { cause })
    }
  }
  return texts
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
