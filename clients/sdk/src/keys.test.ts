import { inspect } from 'node:util'
import { parsePublicKey } from '@svc/svc1/public-key.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatKey, generateKey, keyFromSeed, parseKey, seedOf } from './keys.ts'

const seeds = fc.uint8Array({ minLength: 32, maxLength: 32 })

test('a key can be formatted and parsed as JSON, hex and bytes', () => {
  fc.assert(
    fc.property(seeds, (seed) => {
      const key = keyFromSeed(seed)
      for (const again of [
        parseKey(formatKey(key)),
        keyFromSeed(seedOf(key)),
        keyFromSeed(seedOf(key).toUpperCase()),
      ]) {
        expect(again).toEqual(key)
        expect(again.secretKey).toEqual(Uint8Array.from(seed))
      }
    }),
    { numRuns: 20 },
  )
})

test('RFC 8032, 7.1, test 1: the public key of a known seed', () => {
  const key = keyFromSeed('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60')
  expect(key.pubkey).toBe('ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a')
})

test('spec 2.2, 13.6: generated keys differ, and the service would register them', () => {
  const [one, other] = [generateKey(), generateKey()]
  expect(one.agentId).not.toBe(other.agentId)
  expect(parsePublicKey(one.pubkey)).toEqual(one.publicKey)
})

test('the secret does not appear when a key is logged', () => {
  const key = generateKey()
  const shown = [JSON.stringify(key), JSON.stringify({ ...key }), inspect(key), `${key}`].join('\n')
  expect(shown).not.toContain(seedOf(key))
  expect(shown).not.toMatch(/secretKey/)
  expect(formatKey(key)).toContain(seedOf(key))
})

test.each([
  ['not JSON', 'seed'],
  ['a list', '[]'],
  ['null', 'null'],
  ['no seed', '{}'],
  ['a short seed', JSON.stringify({ seed: '00' })],
  ['a seed that is not hex', JSON.stringify({ seed: 'g'.repeat(64) })],
  ['a seed that is not text', JSON.stringify({ seed: 7 })],
  ['another algorithm', JSON.stringify({ seed: '00'.repeat(32), algorithm: 'rsa' })],
  ['another public key', JSON.stringify({ seed: '00'.repeat(32), pubkey: generateKey().pubkey })],
  ['another agent id', JSON.stringify({ seed: '00'.repeat(32), agent_id: generateKey().agentId })],
])('a key file with %s is refused, and the error does not show its text', (_, text) => {
  expect(() => parseKey(text)).toThrow(TypeError)
  expect(() => parseKey(text)).not.toThrow(/0000|gggg/)
})

test.each([31, 33, 64])('a seed of %i bytes is refused', (length) => {
  expect(() => keyFromSeed(new Uint8Array(length))).toThrow('a seed must be 32 bytes')
})
