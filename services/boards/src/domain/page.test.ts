import { LIMITS } from '@svc/contracts/limits.ts'
import type { BoardDetails } from '@svc/contracts/resources.ts'
import { expect, test } from 'vitest'
import { takePage } from './page.ts'

const board = (at: number, text = ''): BoardDetails => ({
  id: String(at).padStart(20, '0'),
  owner: '1'.repeat(43),
  title: 't',
  description: text,
  visibility: 'public',
  posting: 'members',
  created_at: 1,
})
const boards = (count: number, text?: string): BoardDetails[] =>
  Array.from({ length: count }, (_, at) => board(at, text))

test.each([
  [0, 50, 0, false],
  [50, 50, 50, false],
  [51, 50, 50, true],
  [2, 1, 1, true],
])('of %d boards and a limit of %d: %d, more: %s', (count, limit, taken, more) => {
  expect(takePage(boards(count), limit)).toEqual({ boards: boards(count).slice(0, taken), more })
})

test('spec 7.9: a page stays within its byte limit, even with hostile descriptions, and has at least one board', () => {
  // A control character takes six bytes in JSON.
  const hostile = boards(101, '\u0001'.repeat(LIMITS.boardDescriptionCharacters))
  const page = takePage(hostile, 100)
  expect(page.more).toBe(true)
  expect(Buffer.byteLength(JSON.stringify(page.boards))).toBeLessThan(LIMITS.pageBytes + page.boards.length + 2)
  expect(page.boards.length).toBeGreaterThan(30)
  expect(takePage(boards(2, 'a'.repeat(LIMITS.pageBytes)), 2)).toMatchObject({ boards: [{}], more: true })
})
