/**
 * The header of the vault: the only record that is not encrypted. It says how the passphrase becomes a key, and holds the
 * master key encrypted under that key. It is versioned, so that parameters can be raised for new passphrases.
 */
import { VaultError } from './vault-error.ts'

/** Parameters of Argon2id (RFC 9106). */
export interface KdfParameters {
  readonly salt: Uint8Array
  readonly memoryKiB: number
  readonly passes: number
  readonly lanes: number
}

/** Argon2id over the UTF-8 bytes of a passphrase: 32 bytes. */
export type DeriveKey = (passphrase: string, parameters: KdfParameters) => Promise<Uint8Array<ArrayBuffer>>

export interface VaultHeader {
  readonly version: 1
  /** Random. A vault that was wiped and made again has another one. */
  readonly vaultId: string
  readonly kdf: KdfParameters
  readonly iv: Uint8Array<ArrayBuffer>
  /** The master key, encrypted with AES-256-GCM. */
  readonly wrapped: Uint8Array<ArrayBuffer>
}

/**
 * The parameters that OWASP recommends as the minimum for Argon2id. They take half a second of CPU time in plain JavaScript, so
 * the page needs no WebAssembly, and its policy allows none.
 */
const KDF = { memoryKiB: 19 * 1024, passes: 2, lanes: 1 } as const
const MIN_PASSPHRASE_LENGTH = 10
const SALT_BYTES = 16
const IV_BYTES = 12
const KEY_BYTES = 32
const ALGORITHM = 'AES-GCM'

const utf8 = new TextEncoder()

export function isLongEnough(passphrase: string): boolean {
  return [...passphrase.normalize()].length >= MIN_PASSPHRASE_LENGTH
}

/** @throws VaultError `weak_passphrase`. */
export function checkNewPassphrase(passphrase: string): void {
  if (isLongEnough(passphrase)) return
  throw new VaultError('weak_passphrase', `a passphrase must have at least ${MIN_PASSPHRASE_LENGTH} characters`)
}

/** Encrypts a master key under a passphrase, with a new salt and a new nonce. */
export async function wrapMasterKey(
  masterKey: Uint8Array<ArrayBuffer>,
  vaultId: string,
  passphrase: string,
  derive: DeriveKey,
): Promise<VaultHeader> {
  const kdf = { ...KDF, salt: randomBytes(SALT_BYTES) }
  const iv = randomBytes(IV_BYTES)
  const key = await importKey(await derive(passphrase.normalize(), kdf))
  const wrapped = await crypto.subtle.encrypt({ name: ALGORITHM, iv, additionalData: labelOf(vaultId) }, key, masterKey)
  return { version: 1, vaultId, kdf, iv, wrapped: new Uint8Array(wrapped) }
}

/**
 * @throws VaultError `wrong_passphrase`, also if the header is damaged; `storage_failed` if a newer console made the
 * header.
 */
export async function unwrapMasterKey(
  header: VaultHeader,
  passphrase: string,
  derive: DeriveKey,
): Promise<Uint8Array<ArrayBuffer>> {
  if (header.version !== 1) throw new VaultError('storage_failed', 'a newer console made this vault: reload the page')
  const { vaultId, kdf, iv, wrapped } = header
  const key = await importKey(await derive(passphrase.normalize(), kdf))
  try {
    return new Uint8Array(
      await crypto.subtle.decrypt({ name: ALGORITHM, iv, additionalData: labelOf(vaultId) }, key, wrapped),
    )
  } catch (cause) {
    throw new VaultError('wrong_passphrase', 'the passphrase does not open the vault', { cause })
  }
}

export function newMasterKey(): Uint8Array<ArrayBuffer> {
  return randomBytes(KEY_BYTES)
}

function importKey(bytes: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey('raw', bytes, ALGORITHM, false, ['encrypt', 'decrypt'])
}

function labelOf(vaultId: string): Uint8Array<ArrayBuffer> {
  return utf8.encode(`svc-console vault 1 ${vaultId}`)
}

function randomBytes(length: number): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(length))
}
