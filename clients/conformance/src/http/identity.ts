/** A key with a name at an authority, and the envelopes that it makes. */
import { randomBytes } from 'node:crypto'
import type { SealedEnvelope, SignedEnvelope, UnsignedEnvelope } from '@svc/envelope/envelope.ts'
import { sealEnvelope } from '@svc/envelope/seal.ts'
import { signEnvelope } from '@svc/envelope/sign-envelope.ts'
import type { KeyPair } from '@svc/svc1/key-pair.ts'
import { formatPublicKey } from '@svc/svc1/public-key.ts'

export class Identity {
  readonly name: string
  readonly key: KeyPair
  readonly authority: string

  constructor(name: string, key: KeyPair, authority: string) {
    this.name = name
    this.key = key
    this.authority = authority
  }

  get id(): string {
    return this.key.agentId
  }

  get pubkey(): string {
    return formatPublicKey(this.key.publicKey)
  }

  get address(): string {
    return `${this.name}@${this.authority}`
  }

  /** A signed envelope with a fresh `id` and `ts`. @param to an agent, or the text of `to`. */
  envelope(to: Identity | string, body: unknown = 'hello', changes: Partial<UnsignedEnvelope> = {}): SignedEnvelope {
    return signEnvelope({ ...this.head(to), body, ...changes } as UnsignedEnvelope, this.key.secretKey)
  }

  /** A sealed envelope. */
  sealed(to: Identity, body: unknown = 'hello', changes: Partial<UnsignedEnvelope> = {}): Promise<SealedEnvelope> {
    const envelope = { ...this.head(to), body, ...changes } as UnsignedEnvelope
    return sealEnvelope(envelope, to.key.publicKey, this.key.secretKey)
  }

  private head(to: Identity | string) {
    return {
      id: randomBytes(12).toString('hex'),
      from: this.id,
      to: typeof to === 'string' ? to : to.address,
      type: 'request' as const,
      ts: new Date().toISOString(),
    }
  }
}
