import { expect, test } from 'vitest'
import { compact, isUnread } from './unread.ts'

test.each([
  { upTo: 0, cursors: [], end: 0, beyond: [] },
  { upTo: 3, cursors: [5], end: 3, beyond: [5] },
  { upTo: 3, cursors: [5, 4], end: 5, beyond: [] },
  { upTo: 3, cursors: [4, 6, 5, 9], end: 6, beyond: [9] },
  { upTo: 3, cursors: [1, 3, 3], end: 3, beyond: [] },
])(
  'read up to $upTo, and also $cursors: becomes read up to $end, and beyond it $beyond',
  ({ upTo, cursors, end, beyond }) => {
    expect(compact(upTo, cursors)).toEqual({ upTo: end, beyond: new Set(beyond) })
  },
)

test('the set of single cursors is bounded', () => {
  const every2nd = Array.from({ length: 1_500 }, (_, index) => 2 * index + 2)
  const place = compact(0, every2nd)
  expect(place.beyond.size).toBe(1_000)
  expect([isUnread(place, 2_001), isUnread(place, 3_000), isUnread(place, 3_001)]).toEqual([true, false, true])
  expect(isUnread(place, 3)).toBe(false)
})
