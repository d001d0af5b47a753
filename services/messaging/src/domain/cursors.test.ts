import { ServiceError } from '@svc/contracts/errors.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeCursor, encodeCursor } from './cursors.ts'

const ALICE = 'a'.repeat(43)
const BOB = 'b'.repeat(43)
const number = fc.nat({ max: Number.MAX_SAFE_INTEGER })

/** @returns the place, or the code of the error. */
function decoded(list: 'inbox' | 'export', agentId: string, text: string): readonly number[] | string {
  try {
    return decodeCursor(list, agentId, text)
  } catch (error) {
    if (error instanceof ServiceError) return error.code
    throw error
  }
}

describe('spec 7.9: cursors of message lists', () => {
  test('every process reads the same place from a cursor', () => {
    fc.assert(
      fc.property(number, number, (batch, ordinal) => {
        expect(decoded('export', ALICE, encodeCursor('export', ALICE, [batch, ordinal]))).toEqual([batch, ordinal])
        expect(decoded('inbox', ALICE, encodeCursor('inbox', ALICE, [batch]))).toEqual([batch])
      }),
    )
    // Literal values, so that a change of the format fails here: cursors outlive the process that issued them.
    expect(encodeCursor('inbox', ALICE, [258])).toBe('AAAAAAAAAQI3SU55X-jkyA')
  })

  test('a cursor is invalid for another list and for another agent', () => {
    const inbox = encodeCursor('inbox', ALICE, [7])
    const everything = encodeCursor('export', ALICE, [7, 1])
    expect(decoded('export', ALICE, inbox)).toBe('invalid_cursor')
    expect(decoded('inbox', ALICE, everything)).toBe('invalid_cursor')
    expect(decoded('inbox', BOB, inbox)).toBe('invalid_cursor')
    expect(decoded('export', BOB, everything)).toBe('invalid_cursor')
  })

  test.each([
    ['empty', ''],
    ['a number', '5'],
    ['not base64', '!!!!'],
    ['NUL', '\0'],
    ['too short', 'AAAAAAAAAQI'],
    ['zeros', 'A'.repeat(22)],
    ['very long', 'A'.repeat(100_000)],
  ])('%s is invalid', (_name, text) => {
    expect(decoded('inbox', ALICE, text)).toBe('invalid_cursor')
    expect(decoded('export', ALICE, text)).toBe('invalid_cursor')
  })

  test('a cursor with any character changed, added or left out is invalid', () => {
    const cursor = encodeCursor('export', ALICE, [12_345, 6])
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/ '
    for (let at = 0; at < cursor.length; at += 1) {
      const [before, character, after] = [cursor.slice(0, at), cursor.charAt(at), cursor.slice(at + 1)]
      expect(decoded('export', ALICE, before + after)).toBe('invalid_cursor')
      for (const other of alphabet) {
        if (other !== character) expect(decoded('export', ALICE, before + other + after)).toBe('invalid_cursor')
        expect(decoded('export', ALICE, before + other + character + after)).toBe('invalid_cursor')
        expect(decoded('export', ALICE, cursor + other)).toBe('invalid_cursor')
      }
    }
  })

  test('a cursor with a number beyond 2^53 is invalid, whatever its checksum', () => {
    const numbers = Buffer.alloc(8, 0xff)
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 8, maxLength: 8 }), (seal) => {
        expect(decoded('inbox', ALICE, Buffer.concat([numbers, seal]).toString('base64url'))).toBe('invalid_cursor')
      }),
    )
  })
})
