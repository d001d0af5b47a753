/**
 * RFC 9180 by another author than the library of libs/envelope, and X25519 by a third. Tests seal with one implementation and open
 * with the other.
 */
import {
  AEAD_ChaCha20Poly1305,
  CipherSuite,
  concat,
  encode,
  I2OSP,
  KDF_HKDF_SHA256,
  KEM_DHKEM_X25519_HKDF_SHA256,
  LabeledExpand,
  LabeledExtract,
} from 'hpke'
import nacl from 'tweetnacl'

const suite = new CipherSuite(KEM_DHKEM_X25519_HKDF_SHA256, KDF_HKDF_SHA256, AEAD_ChaCha20Poly1305)
const INFO = encode('SVC1 sealed envelope')

interface Sealed {
  readonly enc: Uint8Array
  readonly ciphertext: Uint8Array
}

/** The X25519 form of an Ed25519 secret key (spec 6.4): the half of its SHA-512 that becomes the scalar. */
function x25519Secret(secretKey: Uint8Array): Uint8Array {
  return nacl.hash(secretKey).subarray(0, 32)
}

/** The X25519 form of an Ed25519 key, from its secret. */
export function x25519Public(secretKey: Uint8Array): Uint8Array {
  return nacl.scalarMult.base(x25519Secret(secretKey))
}

/**
 * Seals any plaintext as spec 6.4 says.
 * @param recipient the X25519 key. @param aadOf the bytes to authenticate besides the plaintext; they contain `enc`.
 */
export async function sealWithPanva(
  recipient: Uint8Array,
  aadOf: (enc: Uint8Array) => Uint8Array,
  plaintext: Uint8Array,
): Promise<Sealed> {
  const { encapsulatedSecret: enc, ctx } = await suite.SetupSender(await suite.DeserializePublicKey(recipient), {
    info: INFO,
  })
  return { enc, ciphertext: await ctx.Seal(plaintext, aadOf(enc)) }
}

/** Opens what spec 6.4 sealed. @param secretKey the Ed25519 secret of the recipient. */
export async function openWithPanva(
  secretKey: Uint8Array,
  { enc, ciphertext, aad }: Sealed & { readonly aad: Uint8Array },
): Promise<Uint8Array> {
  const key = await suite.DeserializePrivateKey(x25519Secret(secretKey), true)
  return suite.Open(key, enc, ciphertext, { info: INFO, aad })
}

/** The X25519 public key of an X25519 secret key. */
export function publicKeyOf(secretKey: Uint8Array): Uint8Array {
  return nacl.scalarMult.base(secretKey)
}

/** The shared secret of the KEM, from the result of X25519 (RFC 9180, section 4.1, ExtractAndExpand). */
export async function kemSecret(dh: Uint8Array, enc: Uint8Array, recipient: Uint8Array): Promise<Uint8Array> {
  const kdf = KDF_HKDF_SHA256()
  const suiteId = concat(encode('KEM'), I2OSP(0x20, 2))
  const prk = await LabeledExtract(kdf, suiteId, new Uint8Array(), encode('eae_prk'), dh)
  return LabeledExpand(kdf, suiteId, prk, encode('shared_secret'), concat(enc, recipient), 32)
}
