/**
 * The files that prove identities to NATS and its clients. libs/nats reads them again for every connection, so a file can
 * be replaced while the process runs.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseNatsUrl } from './nats-url.ts'

/** Throws a TypeError if the content is not of the kind that the variable needs. */
const CHECKS = {
  /** The authorities that the servers' certificates are verified against. */
  SVC_NATS_CA_FILE: checkCertificates,
  /** The certificate of this process and its key, for servers that request one. */
  SVC_NATS_CERT_FILE: checkCertificates,
  SVC_NATS_KEY_FILE: checkKey,
  /** A JWT and the seed of its key, as `nsc` writes them. */
  SVC_NATS_CREDS_FILE: checkCredentials,
  /** The seed of a key. */
  SVC_NATS_NKEY_FILE: checkSeed,
  SVC_NATS_PASSWORD_FILE: checkPassword,
  /** The URL with user and password. */
  SVC_NATS_URL_FILE: parseNatsUrl,
} as const satisfies Record<string, (text: string) => unknown>

export type NatsFile = keyof typeof CHECKS
export const NATS_FILES = Object.keys(CHECKS) as readonly NatsFile[]

/**
 * @returns the text of the file, without white space at either end.
 * @throws TypeError whose message continues the name of the variable. It contains nothing from the file.
 */
export function readNatsFile(variable: NatsFile, path: string): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const problem = code === 'ENOENT' ? 'which does not exist' : `which cannot be read (${code})`
    throw new TypeError(`is ${path}, ${problem}`, { cause })
  }
  try {
    CHECKS[variable](text)
  } catch (cause) {
    throw new TypeError(`is ${path}, which ${(cause as Error).message}`, { cause })
  }
  return text
}

/** Whether both PEM files belong together. */
export function isKeyOf(cert: string, key: string): boolean {
  return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

function checkCertificates(text: string): void {
  const certificates = text.match(CERTIFICATE) ?? []
  const begun = text.split('-----BEGIN CERTIFICATE-----').length - 1
  if (certificates.length === 0 || certificates.length < begun || !certificates.every(isCertificate))
    throw new TypeError('is not a certificate in PEM, or is not complete')
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== null
  } catch {
    return false
  }
}

function checkKey(text: string): void {
  try {
    createPrivateKey(text)
  } catch (cause) {
    throw new TypeError('is not a private key in PEM without a passphrase, or is not complete', { cause })
  }
}

const SEED = /^SU[A-Z2-7]{56}$/
const CREDENTIALS =
  /-BEGIN NATS USER JWT-+\s+[\w-]+\.[\w-]+\.[\w-]+\s+-+END NATS USER JWT-[\s\S]*-BEGIN USER NKEY SEED-+\s+SU[A-Z2-7]{56}\s+-+END USER NKEY SEED-/

function checkCredentials(text: string): void {
  if (!CREDENTIALS.test(text))
    throw new TypeError('has no JWT and seed of a user as nsc writes them, or is not complete')
}

function checkSeed(text: string): void {
  if (!SEED.test(text)) throw new TypeError('is not the seed of a user (SU…), or is not complete')
}

function checkPassword(text: string): void {
  if (text === '') throw new TypeError('is empty')
}
