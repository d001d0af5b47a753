import { BoardId } from '@svc/contracts/ids.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { boardId, RANDOM_BYTES } from './board-id.ts'

const time = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })
const random = fc.uint8Array({ minLength: RANDOM_BYTES, maxLength: RANDOM_BYTES })

test('spec 2.9: the form of an id', () => {
  const form = new RegExp(BoardId.pattern ?? '')
  fc.assert(fc.property(time, random, (createdUs, bytes) => form.test(boardId(createdUs, bytes))))
})

test('spec 2.9: ids sort by creation, whatever their random part', () => {
  fc.assert(
    fc.property(time, time, random, random, (a, b, first, second) => {
      fc.pre(a < b)
      expect(boardId(a, first) < boardId(b, second)).toBe(true)
    }),
  )
})
