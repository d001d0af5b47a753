import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto'

/**
 * A second implementation of RFC 9180, with node:crypto only: base mode, DHKEM(X25519, HKDF-SHA256), HKDF-SHA256,
 * ChaCha20-Poly1305, first message only. Tests seal with one implementation and open with the other.
 */

const KEM_SUITE = Buffer.concat([Buffer.from('KEM'), i2osp(0x20)])
const HPKE_SUITE = Buffer.concat([Buffer.from('HPKE'), i2osp(0x20), i2osp(1), i2osp(3)])
const P = 2n ** 255n - 19n

interface Sealed {
  readonly enc: Buffer
  readonly ciphertext: Buffer
}

/** @param aadOf returns the bytes to authenticate besides the plaintext; they may contain `enc`. */
export function sealWithNode(
  recipient: Uint8Array,
  info: Uint8Array,
  aadOf: (enc: Buffer) => Uint8Array,
  plaintext: Uint8Array,
): Sealed {
  const ephemeral = generateKeyPairSync('x25519')
  const enc = rawPublicKey(ephemeral.publicKey)
  const { key, nonce } = keySchedule(sharedSecret(ephemeral.privateKey, recipient, enc, recipient), info)
  const cipher = createCipheriv('chacha20-poly1305', key, nonce, { authTagLength: 16 })
  cipher.setAAD(aadOf(enc), { plaintextLength: plaintext.length })
  return { enc, ciphertext: Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]) }
}

export function openWithNode(
  secretKey: Uint8Array,
  { enc, info, aad, ciphertext }: Record<'enc' | 'info' | 'aad' | 'ciphertext', Uint8Array>,
): Buffer {
  const { key, nonce } = keySchedule(sharedSecret(importSecretKey(secretKey), enc, enc, publicKeyOf(secretKey)), info)
  const decipher = createDecipheriv('chacha20-poly1305', key, nonce, { authTagLength: 16 })
  decipher.setAAD(aad, { plaintextLength: ciphertext.length - 16 })
  decipher.setAuthTag(ciphertext.subarray(-16))
  return Buffer.concat([decipher.update(ciphertext.subarray(0, -16)), decipher.final()])
}

/** The KEM's shared secret, from the result of X25519 (RFC 9180, section 4.1, ExtractAndExpand). */
export function kemSecret(dh: Uint8Array, enc: Uint8Array, recipient: Uint8Array): Buffer {
  const prk = labeledExtract(KEM_SUITE, '', 'eae_prk', dh)
  return labeledExpand(KEM_SUITE, prk, ['shared_secret', Buffer.concat([enc, recipient])], 32)
}

/** The X25519 public key of a secret key. */
export function publicKeyOf(secretKey: Uint8Array): Buffer {
  return rawPublicKey(createPublicKey(importSecretKey(secretKey)))
}

/** The X25519 form of an Ed25519 public key, which depends only on its y: u = (1 + y) / (1 - y). */
export function montgomeryOf(publicKey: Uint8Array): Buffer {
  const y = BigInt(`0x${Buffer.from(publicKey).reverse().toString('hex')}`) & (2n ** 255n - 1n)
  const u = ((1n + y) * power(P + 1n - y, P - 2n)) % P
  return Buffer.from(u.toString(16).padStart(64, '0'), 'hex').reverse()
}

/** The X25519 form of an Ed25519 secret key: the half of its SHA-512 that becomes the scalar. X25519 clamps this scalar. */
export function montgomerySecretOf(secretKey: Uint8Array): Buffer {
  return createHash('sha512').update(secretKey).digest().subarray(0, 32)
}

function sharedSecret(privateKey: KeyObject, publicKey: Uint8Array, enc: Uint8Array, recipient: Uint8Array): Buffer {
  return kemSecret(diffieHellman({ privateKey, publicKey: importPublicKey(publicKey) }), enc, recipient)
}

function keySchedule(secret: Buffer, info: Uint8Array): { key: Buffer; nonce: Buffer } {
  const context = Buffer.concat([
    Buffer.of(0),
    labeledExtract(HPKE_SUITE, '', 'psk_id_hash', Buffer.alloc(0)),
    labeledExtract(HPKE_SUITE, '', 'info_hash', info),
  ])
  const prk = labeledExtract(HPKE_SUITE, secret, 'secret', Buffer.alloc(0))
  return {
    key: labeledExpand(HPKE_SUITE, prk, ['key', context], 32),
    nonce: labeledExpand(HPKE_SUITE, prk, ['base_nonce', context], 12),
  }
}

function labeledExtract(suite: Uint8Array, salt: Uint8Array | string, label: string, ikm: Uint8Array): Buffer {
  return createHmac('sha256', salt).update('HPKE-v1').update(suite).update(label).update(ikm).digest()
}

function labeledExpand(
  suite: Uint8Array,
  prk: Uint8Array,
  [label, info]: readonly [string, Uint8Array],
  length: number,
): Buffer {
  const labeled = Buffer.concat([i2osp(length), Buffer.from('HPKE-v1'), suite, Buffer.from(label), info])
  return createHmac('sha256', prk).update(labeled).update(Buffer.of(1)).digest().subarray(0, length) // one block is enough
}

function i2osp(value: number): Buffer {
  return Buffer.of(value >> 8, value & 255)
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n
  for (let b = base % P, e = exponent; e > 0n; e >>= 1n, b = (b * b) % P) if (e & 1n) result = (result * b) % P
  return result
}

function importPublicKey(raw: Uint8Array): KeyObject {
  return createPublicKey({
    key: { kty: 'OKP', crv: 'X25519', x: Buffer.from(raw).toString('base64url') },
    format: 'jwk',
  })
}

function importSecretKey(raw: Uint8Array): KeyObject {
  const der = Buffer.concat([Buffer.from('302e020100300506032b656e04220420', 'hex'), raw])
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
}

function rawPublicKey(key: KeyObject): Buffer {
  return Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url')
}
