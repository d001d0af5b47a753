import { hexToBytes } from '@noble/hashes/utils.js'
import { ENGINE, type Engine } from './engine.ts'
import { importPublicKey, verifyRequestNode } from './verify-node.ts'

interface Known {
  readonly about: string
  readonly publicKey: string
  readonly signature: string
  /** UTF-8 bytes as hex. */
  readonly message: string
  readonly valid: boolean
}

// The key of RFC 8032, section 7.1, test 1. Its secret is public, so signatures can be made on both sides of every rule of
// spec 3.4. assert-verifier.test.ts checks that `verifySignature` gives the same verdicts.
const KEY = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'
const MESSAGE = '53564331'

const KNOWN: readonly Known[] = [
  {
    about: 'RFC 8032, test 1',
    publicKey: KEY,
    signature:
      'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
    message: '',
    valid: true,
  },
  {
    about: 'another message than the signed one',
    publicKey: KEY,
    signature:
      'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
    message: MESSAGE,
    valid: false,
  },
  {
    about: 'S + L in the place of S',
    publicKey: KEY,
    signature:
      '58a162bdf385ad4daf3a3279c3ecb008c311c48e23ed6d312ddf87baac6d81db30690e80841a2685fb905cf8ce479a35f077237fbb41a7ef09afc3eb7d35ab13',
    message: MESSAGE,
    valid: false,
  },
  {
    about: 'R of mixed order, which satisfies the equation with the cofactor alone',
    publicKey: KEY,
    signature:
      '3ca40d9bdb2e49622cc48561a824a21b5d55215b5d5fae10264029508be9a2d4521af3d03f59a586e556042a940f810b19da160a7722d776667513c0ac0d6b08',
    message: MESSAGE,
    valid: false,
  },
  {
    about: 'R the identity, canonical',
    publicKey: KEY,
    signature:
      '010000000000000000000000000000000000000000000000000000000000000026be2e31c4965f61207a40c7a6240101c19c12316dc49e23cf11921a4b080e0b',
    message: MESSAGE,
    valid: false,
  },
  {
    about: 'R the identity, its y not reduced',
    publicKey: KEY,
    signature:
      'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7faeb8df7b4719802710294b368e83c77bf21d99eecf8ff67c2bd0bda5f913d808',
    message: MESSAGE,
    valid: false,
  },
  {
    about: 'R the identity, its zero x marked negative',
    publicKey: KEY,
    signature:
      '010000000000000000000000000000000000000000000000000000000000008020d638be3b0d88323f46e8ba724b76244a5d451b817e9ddef9ca496b3fb42b04',
    message: MESSAGE,
    valid: false,
  },
  {
    // ed25519-speccheck, case 0. In production, a key of small order is refused earlier (spec 2.2). A runtime that accepts
    // this signature is older than Node 24.19, and this service was not tested on it.
    about: 'a key of small order',
    publicKey: 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
    signature:
      'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a0000000000000000000000000000000000000000000000000000000000000000',
    message: '8c93255d71dcab10e8f379c26200f3c7bd5f09d9bc3068d3ef4edeb4853022b6',
    valid: false,
  },
]

// The last four are the key of the RFC: with a point of order 8, 4 or 2 added, and unchanged.
const KNOWN_KEYS: readonly { readonly about: string; readonly publicKey: string; readonly allowed: boolean }[] = [
  { about: 'the identity as a key', publicKey: `01${'00'.repeat(31)}`, allowed: false },
  { about: 'a key whose y is not reduced', publicKey: `ee${'ff'.repeat(30)}7f`, allowed: false },
  {
    about: 'a key with a point of order 8',
    publicKey: 'b2a4b8a3b47d22ea8d86603ab90b393fc1b87399ab55b3806ba4cb815cd509f2',
    allowed: false,
  },
  {
    about: 'a key with a point of order 4',
    publicKey: '40c7570f4dd54835b9131184410ed4a0cc93e7d9ad053cbc6d07a62426999582',
    allowed: false,
  },
  {
    // CVE-2025-69277: libsodium before 1.0.21 accepts this key.
    about: 'a key with a point of order 2',
    publicKey: '16a567fe7d4ef5482ab4012c369bf8c5f11e8d0c2559dcda50fde59708f8aee5',
    allowed: false,
  },
  { about: 'the key of RFC 8032, test 1', publicKey: KEY, allowed: true },
]

/**
 * Checks that this process's engine obeys spec 2.2 and 3.4. Call it once, before the first request is accepted. The set of
 * signatures and keys that an engine accepts has changed between versions of Node, OpenSSL and libsodium. Takes a few
 * milliseconds.
 * @param engine for tests.
 * @throws Error that names every rule the engine breaks.
 */
export function assertVerifier(engine: Engine = ENGINE): void {
  const signatures = KNOWN.filter(({ publicKey, signature, message, valid }) => {
    const key = importPublicKey(hexToBytes(publicKey), engine)
    return verifyRequestNode(hexToBytes(signature), hexToBytes(message), key) !== valid
  })
  const keys = KNOWN_KEYS.filter(({ publicKey, allowed }) => engine.isPublicKey(hexToBytes(publicKey)) !== allowed)
  const broken = [...signatures, ...keys.map(({ about, allowed }) => ({ about, valid: allowed }))]
  if (broken.length === 0) return
  const list = broken.map(({ about, valid }) => `${valid ? 'refuses' : 'accepts'} ${about}`).join('; ')
  throw new Error(
    `${engine.name} does not check Ed25519 by spec 2.2 and 3.4 (use Node 24.19 or later, and sodium-native as in the lockfile): ${list}`,
  )
}
