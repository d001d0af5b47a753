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
  test('the id of the first key of RFC 8032', () => {
    const key = Buffer.from('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a', 'hex')
    expect(agentIdOf(key)).toBe('3HhGPB6ht33n51YFaocqBtGePb3xqT4VgnjYbd81eeZW')
  })

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

  test.each([
    ['2^248, the lowest number with 32 bytes', 2n ** 248n, true],
    ['2^248 - 1, which has 31', 2n ** 248n - 1n, false],
    ['58^43 - 1, the highest number with 43 digits', 58n ** 43n - 1n, true],
    ['58^43, the lowest number with 44 digits', 58n ** 43n, true],
    ['2^256 - 1, the greatest', 2n ** 256n - 1n, true],
    ['2^256, which has 33 bytes', 2n ** 256n, false],
  ])('the bounds: %s', (_, value, valid) => {
    const hex = value.toString(16)
    const data = Uint8Array.from(Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex'))
    expect(isAgentId(slowBase58(data))).toBe(valid)
  })

  const id = '3HhGPB6ht33n51YFaocqBtGePb3xqT4VgnjYbd81eeZW'
  test.each([
    ['nothing', ''],
    ['a line feed after', `${id}\n`],
    ['a space before', ` ${id}`],
    ['a zero, which is not a digit', `0${id.slice(1)}`],
    ['a capital O, which is not a digit', `O${id.slice(1)}`],
    ['a capital I, which is not a digit', `I${id.slice(1)}`],
    ['a small l, which is not a digit', `l${id.slice(1)}`],
    ['44 digits above 2^256', 'z'.repeat(44)],
    ['a leading 1 too many', `1${id}`],
    ['a megabyte', '2'.repeat(1_000_000)],
  ])('not an id: %s', (_, text) => {
    expect(isAgentId(text)).toBe(false)
  })
})
