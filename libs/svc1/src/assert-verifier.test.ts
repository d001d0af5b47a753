import { verify as nobleVerify } from '@noble/ed25519'
import { describe, expect, test } from 'vitest'
import { assertVerifier } from './assert-verifier.ts'
import { verifySignature } from './verify.ts'
import type { VerifyKey } from './verify-node.ts'

type Verify = (signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array) => boolean

/** Puts a verifier of raw keys in the place of node:crypto. */
function asRuntime(verify: Verify): (signature: Uint8Array, message: Uint8Array, key: VerifyKey) => boolean {
  return (signature, message, { bytes }) => verify(signature, message, bytes)
}

describe('decisions 8: a process refuses to start on a runtime that verifies otherwise', () => {
  test('this runtime passes, and so does the portable verifier', () => {
    expect(() => assertVerifier()).not.toThrow()
    expect(() => assertVerifier(asRuntime(verifySignature))).not.toThrow()
  })

  test.each<[string, Verify, string[]]>([
    [
      'ZIP 215',
      (s, m, k) => nobleVerify(s, m, k),
      [
        'accepts R of mixed order',
        'accepts R the identity, canonical',
        'accepts R the identity, its y',
        'accepts a key of small order',
      ],
    ],
    [
      'the cofactor',
      (s, m, k) => nobleVerify(s, m, k, { zip215: false }),
      ['accepts R of mixed order', 'accepts R the identity, canonical'],
    ],
    ['everything', () => true, ['accepts another message', 'accepts S + L', 'accepts a key of small order']],
    ['nothing', () => false, ['refuses RFC 8032']],
  ])('one that goes by %s does not', (_, verify, rules) => {
    for (const rule of rules) expect(() => assertVerifier(asRuntime(verify))).toThrow(rule)
  })
})
