/**
 * Secrets at rest: AES-256-GCM with a random nonce. What a secret belongs to is authenticated with it, so that a sealed secret
 * moved to another agent, or back to it after a change, does not open. Keys are known by ids made of themselves: whoever
 * replaces one puts the new key in front and keeps the old one until nothing is sealed with it.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'

export interface Sealed {
  readonly keyId: string
  /** Nonce, ciphertext, tag. */
  readonly sealed: Buffer
}

/** Whose secret it is, under which configuration. */
export interface SecretOwner {
  readonly agentId: string
  readonly configuration: string
}

export interface SecretBox {
  /** Id of the key that seals. */
  readonly keyId: string
  seal(secret: Uint8Array, owner: SecretOwner): Sealed
  /** @throws Error where the key is not known, or the secret is not what was sealed for this owner. */
  open(sealed: Sealed, owner: SecretOwner): Buffer
}

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** @param keys texts of any alphabet with 256 bits in them; the first seals, all open. */
export function createSecretBox([first, ...others]: readonly [string, ...string[]]): SecretBox {
  const current = keyOf(first)
  const byId = new Map([...others.map(keyOf), current].map((one) => [one.id, one.key]))
  return {
    keyId: current.id,
    seal(secret, owner) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', current.key, nonce).setAAD(identityOf(owner))
      const ciphertext = Buffer.concat([cipher.update(secret), cipher.final()])
      return { keyId: current.id, sealed: Buffer.concat([nonce, ciphertext, cipher.getAuthTag()]) }
    },
    open({ keyId, sealed }, owner) {
      const key = byId.get(keyId)
      if (key === undefined) throw new Error(`no key ${keyId}: put it behind the present one in SVC_WEBHOOK_SECRET_KEY`)
      const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
      decipher.setAAD(identityOf(owner)).setAuthTag(sealed.subarray(-TAG_BYTES))
      return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
    },
  }
}

function keyOf(text: string): { id: string; key: Buffer } {
  const key = Buffer.from(hkdfSync('sha256', text, '', 'svc webhook secrets', 32))
  return { id: createHmac('sha256', key).update('key id').digest('hex').slice(0, 16), key }
}

function identityOf({ agentId, configuration }: SecretOwner): Buffer {
  return Buffer.from(`${agentId}:${configuration}`)
}
