import { verify as nobleVerify, Point } from '@noble/ed25519'
import { describe, expect, test } from 'vitest'
import { engines } from '../../test/engines.ts'
import { isPublicKey } from '../public-key.ts'
import { verifySignature } from '../verify.ts'
import { assertVerifier } from './assert-verifier.ts'
import type { Engine } from './engine.ts'

type VerifyRaw = (signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array) => boolean

function asEngine(verify: VerifyRaw, isAllowed: Engine['isPublicKey'] = isPublicKey): Engine {
  return {
    name: 'an engine',
    isPublicKey: isAllowed,
    verifierOf: (publicKey) => (signature, signed) => verify(signature, signed, publicKey),
  }
}

describe('spec 3.4: a process refuses to start on an engine with another verdict', () => {
  test('this runtime passes, and so does the portable verifier', () => {
    for (const engine of engines) expect(() => assertVerifier(engine)).not.toThrow()
    expect(() => assertVerifier(asEngine(verifySignature))).not.toThrow()
  })

  test.each<[string, VerifyRaw, string[]]>([
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
  ])('a verifier with the rules of %s fails the check', (_, verify, rules) => {
    for (const rule of rules) expect(() => assertVerifier(asEngine(verify))).toThrow(rule)
  })
})

describe('spec 2.2: a process refuses to start on an engine that allows other keys', () => {
  test.each<[string, Engine['isPublicKey'], string[]]>([
    ['every key', () => true, ['accepts the identity', 'accepts a key whose y is not reduced']],
    ['no key', () => false, ['refuses the key of RFC 8032']],
    [
      'any point that is not of small order',
      (bytes) => !Point.fromBytes(bytes, true).isSmallOrder(),
      ['accepts a key with a point of order 8', 'accepts a key with a point of order 4'],
    ],
    // libsodium before 1.0.21 checks only x, and L times such a key is (0, -1).
    [
      'keys that L takes to x = 0',
      (bytes) => isPublicKey(bytes) || isPublicKey(Point.fromBytes(bytes, true).add(ORDER_2).toBytes()),
      ['accepts a key with a point of order 2'],
    ],
  ])('a verifier that allows %s', (_, isAllowed, rules) => {
    for (const rule of rules) expect(() => assertVerifier(asEngine(verifySignature, isAllowed))).toThrow(rule)
  })
})

const ORDER_2 = Point.fromHex(`ec${'ff'.repeat(30)}7f`)
