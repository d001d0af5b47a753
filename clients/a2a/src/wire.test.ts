import { randomBytes } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { decodePiece, encodeWire, joinPieces, unitsOf, type Wire } from './wire.ts'

const refused = (reason: string): Wire => ({ kind: 'refused', turn: 'a-turn-id', reason })
const PIECE = { a2a: 1, group: 'a-group-id', index: 0, count: 1, text: '' }

test.each([
  ['small', 'x', 1, 1],
  ['long, but of few words', 'x'.repeat(900_000), 1, 3],
  ['with a broken character', '\ud83d __proto__', 1, 1],
  ['in pieces', randomBytes(40_000).toString('base64'), 4, 64],
])('a text is joined again: %s', (_, text, count, maxUnits) => {
  const pieces = encodeWire(refused(text))
  expect(pieces).toHaveLength(count)
  expect(unitsOf(pieces)).toBeLessThanOrEqual(maxUnits)
  // A sealed message has at most 16 KiB.
  for (const piece of pieces) expect(JSON.stringify(piece).length).toBeLessThan(15_500)
  expect(pieces.map((piece) => decodePiece(JSON.parse(JSON.stringify(piece))))).toEqual(pieces)
  expect(joinPieces(pieces.map((piece) => piece.text))).toEqual(refused(text))
})

test.each([
  ['more than 1 MiB', 'x'.repeat(1_100_000)],
  ['more than 32 pieces', randomBytes(360_000).toString('base64')],
])('too large: %s', (_, text) => {
  expect(() => encodeWire(refused(text))).toThrow(/too large.*Send files by URL/)
})

test.each([
  ['of another program', { a2a: 2 }],
  ['without a text', { text: 1 }],
  ['with an index that is no number of the group', { index: 1 }],
  ['with too many', { count: 33 }],
  ['with a group that is no id', { group: '../x' }],
])('is no piece: %s', (_, change) => {
  expect(decodePiece(PIECE)).toEqual(PIECE)
  expect(decodePiece({ ...PIECE, ...change })).toBeUndefined()
})

const packed = (value: unknown): string[] => [deflateRawSync(JSON.stringify(value)).toString('base64')]
test.each([
  ['not compressed', ['{}']],
  ['of an unknown kind', packed({ kind: 'other' })],
  ['with an id that is none', packed({ kind: 'cancel', task: '__proto__/' })],
  ['without a request', packed({ kind: 'send', turn: 'a-turn-id', task: 'a-task-id', request: null })],
  ['larger than it may be', [deflateRawSync(Buffer.alloc(50_000_000)).toString('base64')]],
])('is ignored: what is %s', (_, texts) => {
  expect(joinPieces(texts)).toBeUndefined()
})
