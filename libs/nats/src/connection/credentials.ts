/**
 * Logins and certificates from files. They are read again for every connection, so that a rotation needs no restart. The client
 * could read them itself, but it closes for ever if it cannot read a login.
 */
import { createSecureContext, type SecureContext } from 'node:tls'
import { isDeepStrictEqual } from 'node:util'
import { ConfigError } from '@svc/config/env-reader.ts'
import { loginFileOf, type NatsAccess, TLS_FILES } from '@svc/config/nats-access.ts'
import { isKeyOf, NATS_FILES, type NatsFile, readNatsFile } from '@svc/config/nats-files.ts'
import { trustedAuthorities, trustedContext } from '@svc/tls/trust.ts'
import { type Authenticator, credsAuthenticator, nkeyAuthenticator, usernamePasswordAuthenticator } from 'nats'

type Say = (problem: string) => void
type Paths = NatsAccess['files']
/** The contents of the files, by variable. */
type Texts = Partial<Record<NatsFile, string>>

/**
 * @returns undefined if the login is not in a file.
 * @throws ConfigError if the file cannot be used now.
 */
export function loginFrom({ files }: NatsAccess, user: string, say: Say): Authenticator | undefined {
  const variable = loginFileOf(files)
  if (variable === undefined) return undefined
  const current = renewed({ [variable]: files[variable] }, say, (texts) => {
    const authenticator = authenticatorOf(texts, user)
    try {
      // Without a server's challenge the authenticator signs nothing, but it throws if the seed is damaged.
      authenticator()
    } catch (cause) {
      throw new TypeError(`${variable} is ${files[variable]}, which has a damaged seed`, { cause })
    }
    return authenticator
  })
  return (nonce) => current()(nonce)
}

/**
 * The trusted authorities, and the certificate of this process. If there is a file of authorities, only these are trusted.
 * @throws ConfigError if a file cannot be used now.
 */
export function contextFrom({ files }: NatsAccess, say: Say): () => SecureContext {
  const used = Object.fromEntries(TLS_FILES.map((variable) => [variable, files[variable]]))
  if (Object.values(used).every((path) => path === undefined)) return trustedContext
  return renewed(used, say, ({ SVC_NATS_CA_FILE: ca, SVC_NATS_CERT_FILE: cert, SVC_NATS_KEY_FILE: key }) => {
    if (cert !== undefined && key !== undefined && !isKeyOf(cert, key))
      throw new TypeError(`SVC_NATS_KEY_FILE is ${used.SVC_NATS_KEY_FILE}, which is not the key of SVC_NATS_CERT_FILE`)
    return createSecureContext({ ca: ca ?? trustedAuthorities(), cert, key })
  })
}

function authenticatorOf(texts: Texts, user: string): Authenticator {
  const { SVC_NATS_CREDS_FILE: creds, SVC_NATS_NKEY_FILE: seed, SVC_NATS_PASSWORD_FILE: password } = texts
  const encoder = new TextEncoder()
  if (creds !== undefined) return credsAuthenticator(encoder.encode(`${creds}\n`))
  if (seed !== undefined) return nkeyAuthenticator(encoder.encode(seed))
  return usernamePasswordAuthenticator(user, password)
}

/** @returns a function that reads the files again. If a file is missing or half-written, it logs that and returns its last result. */
function renewed<T>(paths: Paths, say: Say, make: (texts: Texts) => T): () => T {
  let texts: Texts
  let made: T
  try {
    texts = readAll(paths)
    made = make(texts)
  } catch (cause) {
    throw new ConfigError(`configuration: ${messageOf(cause)}`, { cause })
  }
  return () => {
    try {
      const now = readAll(paths)
      if (!isDeepStrictEqual(now, texts)) made = make(now)
      texts = now
    } catch (error) {
      say(`${messageOf(error)}. Until you correct this, the process uses the contents that it read before.`)
    }
    return made
  }
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
