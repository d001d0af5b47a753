/** Messages that the scripted service shows to a client: good ones, and forged ones. */
import { createHash } from 'node:crypto'
import type { Envelope, SignedEnvelope, UnsignedEnvelope } from '@svc/envelope/envelope.ts'
import { jcsBytes } from '@svc/envelope/jcs.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import { sealEnvelope } from '@svc/envelope/seal.ts'
import { signEnvelope } from '@svc/envelope/sign-envelope.ts'
import { decodeBase64, encodeBase64 } from '@svc/svc1/base64.ts'
import type { KeyPair } from '@svc/svc1/key-pair.ts'
import { filledIn, memberOf } from './cast.ts'

export interface MessageDraft {
  readonly id: string
  /** Who signs. The envelope names its address, unless `named` says otherwise. */
  readonly from: string
  readonly named?: string
  /** Default: the client's agent. */
  readonly to?: string
  readonly body?: JsonValue
  readonly ttl?: number
  readonly sealed?: boolean
}

/** What somebody does to a good envelope. Each is a rule of chapter 2, 3 or 6 that a reader checks itself. */
const FORGERIES = {
  'another body': (one) => ({ ...one, body: { text: 'pay more' } }),
  'an added member': (one) => ({ ...one, ttl: 60 }),
  'a removed member': ({ ttl: _, ...one }) => one,
  'sig without padding': (one) => ({ ...one, sig: one.sig.replace(/=+$/, '') }),
  'sig with a line feed': (one) => ({ ...one, sig: `${one.sig}\n` }),
  'sig with unused bits': (one) => ({ ...one, sig: one.sig.replace(/.==$/, ([digit]) => `${nextDigit(digit)}==`) }),
  'sig with S + L': (one) => ({ ...one, sig: withGreaterS(one.sig) }),
  'sig with R of small order': (one, key) => ({ ...one, sig: withSmallR(one, key) }),
  // S is 1 and R is S·B, which fits every message if the key is the identity.
  'sig for the key of small order': (one) => ({ ...one, sig: encodeBase64(Buffer.from(BASE_POINT + ONE, 'hex')) }),
} as const satisfies Record<string, (envelope: SignedEnvelope, key: KeyPair) => SignedEnvelope>
export type Forgery = keyof typeof FORGERIES

/** @param reader the name of the client's agent. */
export async function composed(draft: MessageDraft, reader: string, forgery?: Forgery): Promise<Envelope> {
  const { id, from, named, to = reader, body = { text: 'hello' }, ttl, sealed = false } = draft
  const key = memberOf(from)
  const envelope: UnsignedEnvelope = {
    id,
    from: filledIn(named ?? `address of ${from}`),
    to: memberOf(to).address,
    type: 'request',
    ts: new Date().toISOString(),
    ...(ttl === undefined ? {} : { ttl }),
    body,
  }
  if (sealed) return sealEnvelope(envelope, memberOf(reader).publicKey, key.secretKey)
  const signed = signEnvelope(envelope, key.secretKey)
  return forgery === undefined ? signed : FORGERIES[forgery](signed, key)
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
/** The last digit before `==` has four unused bits, which are zero. */
function nextDigit(digit = 'A'): string {
  return BASE64[BASE64.indexOf(digit) + 1] ?? 'B'
}

const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n
const BASE_POINT = `58${'66'.repeat(31)}`
const ONE = `01${'00'.repeat(31)}`

/** The same signature for a check that forgets that S is below the group order (spec 3.4). */
function withGreaterS(sig: string): string {
  const signature = decodeBase64(sig) ?? new Uint8Array(64)
  return encodeBase64(Buffer.concat([signature.slice(0, 32), bytesOf(numberOf(signature.slice(32)) + ORDER)]))
}

/** R is the identity and S is k·a, which satisfies the equation of spec 3.4, and only its third rule refuses it. */
function withSmallR({ sig: _, ...unsigned }: SignedEnvelope, { secretKey, publicKey }: KeyPair): string {
  const r = Buffer.from(ONE, 'hex')
  const a = sha512(secretKey).subarray(0, 32)
  a[0] = (a[0] ?? 0) & 248
  a[31] = ((a[31] ?? 0) & 127) | 64
  const k = numberOf(sha512(Buffer.concat([r, publicKey, jcsBytes(unsigned)])))
  return encodeBase64(Buffer.concat([r, bytesOf((k * numberOf(a)) % ORDER)]))
}

function sha512(bytes: Uint8Array): Buffer {
  return createHash('sha512').update(bytes).digest()
}

function numberOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)
}

function bytesOf(number: bigint): Buffer {
  return Buffer.from(number.toString(16).padStart(64, '0'), 'hex').reverse()
}

/** Undefined for a value that has no canonical form. */
export function canonicalText(value: unknown): string | undefined {
  try {
    return new TextDecoder().decode(jcsBytes(value))
  } catch {
    return undefined
  }
}
