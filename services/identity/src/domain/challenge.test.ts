import { createSecretKey, randomBytes, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Challenge, decodeChallenge, encodeChallenge } from './challenge.ts'

const KEY = createSecretKey(randomBytes(32))
const OLD_KEY = createSecretKey(randomBytes(32))
const FOREIGN_KEY = createSecretKey(randomBytes(32))

const CHALLENGE: Challenge = {
  id: randomUUID(),
  publicKey: new Uint8Array(randomBytes(32)),
  difficulty: 18,
  expiresAt: 1_800_000_000,
}

describe('spec 5.4: a challenge is a token that carries its key, difficulty and expiry', () => {
  test('every value survives encoding and decoding', () => {
    fc.assert(
      fc.property(
        fc.record({
          id: fc.uuid(),
          publicKey: fc.uint8Array({ minLength: 32, maxLength: 32 }),
          difficulty: fc.integer({ min: 0, max: 255 }),
          expiresAt: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
        }),
        (challenge) => {
          expect(decodeChallenge(encodeChallenge(challenge, KEY), [KEY])).toEqual(challenge)
        },
      ),
    )
  })

  test('it is one line of printable ASCII, so that it can be hashed and sent as it is', () => {
    expect(encodeChallenge(CHALLENGE, KEY)).toMatch(/^[A-Za-z0-9_-]{75}\.[A-Za-z0-9_-]{43}$/)
  })

  test('a token of any accepted key is valid, so keys can be rotated', () => {
    expect(decodeChallenge(encodeChallenge(CHALLENGE, OLD_KEY), [KEY, OLD_KEY])).toEqual(CHALLENGE)
  })

  test('a foreign token is invalid', () => {
    expect(decodeChallenge(encodeChallenge(CHALLENGE, FOREIGN_KEY), [KEY, OLD_KEY])).toBeUndefined()
  })

  test('a token with any one character changed is invalid', () => {
    const text = encodeChallenge(CHALLENGE, KEY)
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.constantFrom(...'AZaz09-_.+/= \n'), (at, character) => {
        fc.pre(text[at] !== character)
        expect(decodeChallenge(text.slice(0, at) + character + text.slice(at + 1), [KEY])).toBeUndefined()
      }),
      { numRuns: 500 },
    )
  })

  const text = encodeChallenge(CHALLENGE, KEY)
  const [payload = '', mac = ''] = text.split('.')
  test.each([
    ['nothing', ''],
    ['a full stop', '.'],
    ['a payload without MAC', payload],
    ['a payload with an empty MAC', `${payload}.`],
    ['a MAC without payload', `.${mac}`],
    ['a third part', `${text}.`],
    ['padding', `${payload}=.${mac}=`],
    ['a space before', ` ${text}`],
    ['a line feed after', `${text}\n`],
    ['the parts in the other order', `${mac}.${payload}`],
    ['a shorter payload', `${payload.slice(4)}.${mac}`],
    ['other text', 'challenge'],
  ])('malformed: %s', (_, malformed) => {
    expect(decodeChallenge(malformed, [KEY])).toBeUndefined()
  })

  test('of two spellings of the same bytes at most one is valid', () => {
    // The last character of the payload has two unused bits, the last character of the MAC four.
    const respell = (part: string): string[] =>
      [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_']
        .map((last) => part.slice(0, -1) + last)
        .filter((other) => other !== part && Buffer.from(other, 'base64url').equals(Buffer.from(part, 'base64url')))
    const spellings = [...respell(payload).map((p) => `${p}.${mac}`), ...respell(mac).map((m) => `${payload}.${m}`)]
    expect(spellings.length).toBeGreaterThan(0)
    for (const spelling of spellings) expect(decodeChallenge(spelling, [KEY])).toBeUndefined()
  })
})
