import { expect, test } from 'vitest'
import { scrollTopFor, windowOf } from './window.ts'

test.each([
  { count: 0, scrollTop: 0, height: 500, first: 0, end: 0 },
  { count: 10_000, scrollTop: 0, height: 500, first: 0, end: 11 },
  { count: 10_000, scrollTop: 50_000, height: 500, first: 494, end: 511 },
  { count: 10_000, scrollTop: 999_500, height: 500, first: 9_989, end: 10_000 },
  { count: 3, scrollTop: 9_999, height: 500, first: 0, end: 3 },
  { count: 10, scrollTop: 0, height: 0, first: 0, end: 6 },
])('$count rows at $scrollTop show $first to $end', ({ first, end, ...view }) => {
  expect(windowOf({ ...view, rowHeight: 100 })).toEqual({ first, end })
})

test.each([
  { row: 0, scrollTop: 250, top: 0 },
  { row: 3, scrollTop: 250, top: 250 },
  { row: 7, scrollTop: 250, top: 300 },
  { row: 2, scrollTop: 250, top: 200 },
])('row $row comes into view from $scrollTop by scrolling to $top', ({ row, scrollTop, top }) => {
  expect(scrollTopFor(row, { rowHeight: 100, scrollTop, height: 500 })).toBe(top)
})
