import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { AgentKey } from '@svc/sdk/keys.ts'

/** Encrypts files under a key that only the holder of the agent's key can derive. */
export interface Cipher {
  /** @param name name of the file; the content decrypts only under this name. @returns nonce (12 bytes), tag (16), ciphertext. */
  encrypt(name: string, text: string): Buffer
  /** @returns undefined if the content was altered, or belongs to another file or key. */
  decrypt(name: string, content: Uint8Array): string | undefined
}

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** AES-256-GCM under HKDF-SHA256 of the agent's secret key (RFC 5869). */
export function createCipher(key: AgentKey): Cipher {
  const secret = Buffer.from(hkdfSync('sha256', key.secretKey, Buffer.alloc(0), 'svc mcp state 1', 32))
  return {
    encrypt(name, text) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(ALGORITHM, secret, nonce)
      cipher.setAAD(Buffer.from(name))
      const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), encrypted])
    },
    decrypt(name, content) {
      try {
        const decipher = createDecipheriv(ALGORITHM, secret, content.subarray(0, NONCE_BYTES), {
          authTagLength: TAG_BYTES,
        })
        decipher.setAAD(Buffer.from(name))
        decipher.setAuthTag(content.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
        const encrypted = content.subarray(NONCE_BYTES + TAG_BYTES)
        return Buffer.concat([decipher.update(encrypted), decipher.final()]).toString('utf8')
      } catch {
        // Truncated, altered, or encrypted under another key. The caller rewrites the file.
        return undefined
      }
    },
  }
}
