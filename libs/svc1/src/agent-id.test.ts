import { createHash } from 'node:crypto'
import base58 from 'bs58'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { agentIdOf, isAgentId } from './agent-id.ts'

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })

/** base58 by long division, as a simple reference. */
function slowBase58(data: Uint8Array): string {
  let value = data.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n)
  let digits = ''
  for (; value > 0n; value /= 58n) digits = `${ALPHABET[Number(value % 58n)]}${digits}`
  const zeros = data.findIndex((byte) => byte !== 0)
  return '1'.repeat(zeros === -1 ? data.length : zeros) + digits
}

describe('spec 2.3: an agent id is base58 of SHA-256 of the 32 raw key bytes', () => {
  test('property: it equals long division, and is recognized', () => {
    fc.assert(
      fc.property(bytes(32), (key) => {
        const id = agentIdOf(key)
        expect(id).toBe(slowBase58(createHash('sha256').update(key).digest()))
        expect(isAgentId(id)).toBe(true)
      }),
    )
  })

  test('property: base58 of any 32 bytes is an id and decodes to the same bytes, leading zeros too', () => {
    const padded = fc.tuple(bytes(32), fc.nat(32)).map(([data, zeros]) => data.fill(0, 0, zeros))
    fc.assert(
      fc.property(padded, (data) => {
        const text = slowBase58(data)
        expect(isAgentId(text)).toBe(true)
        expect(base58.decodeUnsafe(text)).toEqual(data)
        expect(base58.encode(data)).toBe(text)
      }),
    )
  })

  test('property: base58 of another number of bytes is not an id', () => {
    const others = fc.uint8Array({ maxLength: 64 }).filter((data) => data.length !== 32)
    fc.assert(
      fc.property(others, (data) => {
        expect(isAgentId(slowBase58(data))).toBe(false)
      }),
    )
  })

  // docs/vectors/texts.json has the bounds and the texts that are no ids.
  test('a megabyte is refused without being decoded, which would take quadratic time', () => {
    expect(isAgentId('2'.repeat(1_000_000))).toBe(false)
  })
})
