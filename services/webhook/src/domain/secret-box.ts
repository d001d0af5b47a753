/**
 * Encrypts secrets at rest, with AES-256-GCM and a random nonce. Each secret is bound to its agent and configuration,
 * so a sealed secret does not open if it is moved to another agent, or put back after a change. A key's id is derived
 * from the key. To rotate, put the new key in front and keep the old one until no secret is sealed with it.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'

export interface Sealed {
  readonly keyId: string
  /** Nonce, ciphertext, tag. */
  readonly sealed: Buffer
}

/** The agent and the configuration to which a secret belongs. */
interface SecretOwner {
  readonly agentId: string
  readonly configuration: string
}

export interface SecretBox {
  /** Id of the key that seals new secrets. */
  readonly keyId: string
  seal(secret: Uint8Array, owner: SecretOwner): Sealed
  /** @throws Error if the key is unknown, or the secret was not sealed for this owner. */
  open(sealed: Sealed, owner: SecretOwner): Buffer
}

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** @param keys Texts in any alphabet, with 256 bits of entropy each. The first seals; all of them open. */
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
      if (key === undefined)
        throw new Error(`the key ${keyId} is missing: append it to SVC_WEBHOOK_SECRET_KEY, after the current key`)
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
