/**
 * Encrypts the records of an unlocked vault. Every record has its own random nonce. Its place in the database is authenticated
 * with it, so a record that was moved does not open. Places are keyed hashes, so they tell nothing about agents and messages.
 */
import { VaultError } from './vault-error.ts'

/** As stored. */
export interface SealedRecord {
  readonly iv: Uint8Array<ArrayBuffer>
  readonly data: Uint8Array<ArrayBuffer>
}

/** A list of records, for example the drafts of one agent. */
export type Scope = readonly string[]

export interface Cipher {
  /** Where the records of a scope begin in the database: `<hash>/`. */
  prefixOf(scope: Scope): Promise<string>
  /** Where one record is: the prefix of its scope, and a hash of its id. */
  placeOf(scope: Scope, id: string): Promise<string>
  seal(place: string, content: unknown): Promise<SealedRecord>
  /** @throws VaultError `storage_failed` if the record was changed or moved. */
  open(place: string, record: SealedRecord): Promise<unknown>
}

const IV_BYTES = 12
const HASH = 'SHA-256'

const utf8 = new TextEncoder()
const fromUtf8 = new TextDecoder()

/** The master key itself is not kept: only keys that the browser does not export. */
export async function createCipher(masterKey: Uint8Array<ArrayBuffer>): Promise<Cipher> {
  const root = await crypto.subtle.importKey('raw', masterKey, 'HKDF', false, ['deriveKey'])
  const derived = (use: string) => ({ name: 'HKDF', hash: HASH, salt: new Uint8Array(), info: utf8.encode(use) })
  const [records, places] = await Promise.all([
    crypto.subtle.deriveKey(derived('records'), root, { name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt']),
    crypto.subtle.deriveKey(derived('places'), root, { name: 'HMAC', hash: HASH, length: 256 }, false, ['sign']),
  ])

  const hashOf = async (parts: readonly string[]): Promise<string> => {
    const mac = await crypto.subtle.sign('HMAC', places, utf8.encode(JSON.stringify(parts)))
    return Array.from(new Uint8Array(mac, 0, 16), (byte) => byte.toString(16).padStart(2, '0')).join('')
  }
  const prefixOf = async (scope: Scope): Promise<string> => `${await hashOf(['scope', ...scope])}/`

  return {
    prefixOf,
    placeOf: async (scope, id) => (await prefixOf(scope)) + (await hashOf(['record', ...scope, id])),
    async seal(place, content) {
      const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES))
      const parameters = { name: 'AES-GCM', iv, additionalData: utf8.encode(place) }
      const data = await crypto.subtle.encrypt(parameters, records, utf8.encode(JSON.stringify(content)))
      return { iv, data: new Uint8Array(data) }
    },
    async open(place, { iv, data }) {
      try {
        const parameters = { name: 'AES-GCM', iv, additionalData: utf8.encode(place) }
        return JSON.parse(fromUtf8.decode(await crypto.subtle.decrypt(parameters, records, data)))
      } catch (cause) {
        throw new VaultError('storage_failed', 'a record of the vault is damaged', { cause })
      }
    },
  }
}
