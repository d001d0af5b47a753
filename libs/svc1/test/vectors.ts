import { readFileSync } from 'node:fs'

export interface SignatureVector {
  readonly name: string
  readonly publicKey: Uint8Array
  readonly message: Uint8Array
  readonly signature: Uint8Array
}

function read(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../../test/vectors/ed25519/${name}`, import.meta.url), 'utf8'))
}

export function hex(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, 'hex'))
}

export const rfc8032 = (read('rfc8032.json') as { priv: string; pub: string; msg: string; sig: string }[]).map(
  ({ priv, pub, msg, sig }, index) => ({
    name: `rfc8032 ${index}`,
    secretKey: hex(priv),
    publicKey: hex(pub),
    message: hex(msg),
    signature: hex(sig),
  }),
)

interface WycheproofGroup {
  readonly publicKey: { readonly pk: string }
  readonly tests: readonly { tcId: number; comment: string; msg: string; sig: string; result: string }[]
}

export const wycheproof = (
  read('wycheproof_ed25519_test.json') as { testGroups: WycheproofGroup[] }
).testGroups.flatMap(({ publicKey, tests }) =>
  tests.map(({ tcId, comment, msg, sig, result }) => ({
    name: `wycheproof ${tcId} ${comment}`,
    publicKey: hex(publicKey.pk),
    message: hex(msg),
    signature: hex(sig),
    valid: result === 'valid',
  })),
)

export const speccheck: SignatureVector[] = (
  read('speccheck_cases.json') as { message: string; pub_key: string; signature: string }[]
).map(({ message, pub_key, signature }, index) => ({
  name: `speccheck ${index}`,
  publicKey: hex(pub_key),
  message: hex(message),
  signature: hex(signature),
}))

export const zip215: SignatureVector[] = (read('zip215.json') as { vk_bytes: string; sig_bytes: string }[]).map(
  ({ vk_bytes, sig_bytes }, index) => ({
    name: `zip215 ${index}`,
    publicKey: hex(vk_bytes),
    message: new TextEncoder().encode('Zcash'),
    signature: hex(sig_bytes),
  }),
)

/** The 14 encodings of points of small order, in hex, including encodings that are not reduced or have a needless sign bit. */
export const smallOrder: string[] = [...new Set(zip215.map(({ publicKey }) => Buffer.from(publicKey).toString('hex')))]
