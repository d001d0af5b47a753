import { LIMITS } from '@svc/contracts/limits.ts'
import { describe, expect, test } from 'vitest'
import { takePage } from '../../domain/pages.ts'
import { listVisible, type VisibleRow } from './visible.ts'

interface Row extends VisibleRow {
  position: number
}

const LONG = 'x'.repeat(32 * 1024)

/** A list in memory. Like the queries, it leaves boards out, stops at the limit, and reads envelopes while they fit a page. */
function look(all: readonly Row[], after: number, limit: number, withoutBoards: readonly string[]): { rows: Row[] } {
  let bytes = 0
  const found = all.filter(({ position, board }) => position > after && !withoutBoards.includes(board ?? ''))
  const rows = found.slice(0, limit).map((row) => {
    const envelope = bytes < LIMITS.pageBytes ? row.envelope : null
    bytes += row.envelope?.length ?? 0
    return { ...row, envelope }
  })
  return { rows }
}

function rowsOf(boards: readonly (string | null)[], envelope: string): Row[] {
  return boards.map((board, index) => {
    const lane = board === null ? 'inbox' : 'board'
    return { position: index + 1, board, envelope, lane, accepted_at: 1, expires_at: 2, acked: false }
  })
}

/** Reads every page until the end, like a client that follows the cursor. */
async function readAll(all: readonly Row[], limit: number, isOpen: (board: string) => boolean) {
  const found: number[] = []
  let pages = 0
  for (let after = 0; after < all.length; pages += 1) {
    const asked: string[] = []
    const { rows, seenTo, more } = await listVisible({
      limit: limit + 1,
      look: async (withoutBoards) => look(all, after, limit + 1, withoutBoards),
      allow: async (boards) => {
        asked.push(...boards)
        return boards.filter(isOpen)
      },
    })
    expect(new Set(asked).size).toBe(asked.length)
    const page = takePage(rows, limit)
    found.push(...page.rows.map(({ position }) => position))
    const next = (page.more ? page.rows.at(-1) : more ? seenTo : undefined)?.position ?? all.length
    expect(next).toBeGreaterThan(after)
    after = next
  }
  return { found, pages }
}

describe('rows that the reader may no longer see are skipped, every other row is listed, and each page moves on', () => {
  const cases: [name: string, boards: (string | null)[]][] = [
    ['only messages', Array.from({ length: 20 }, () => null)],
    ['one board', Array.from({ length: 20 }, () => 'closed-1')],
    ['one board per post, none open', Array.from({ length: 60 }, (_, at) => `closed-${at}`)],
    [
      'one board per post, every seventh open',
      Array.from({ length: 60 }, (_, at) => `${at % 7 === 6 ? 'open' : 'closed'}-${at}`),
    ],
    [
      'mixed',
      Array.from({ length: 60 }, (_, at) => (at % 5 === 0 ? null : `${at % 3 === 0 ? 'open' : 'closed'}-${at % 11}`)),
    ],
    ['closed boards, and one message at the end', [...Array.from({ length: 40 }, (_, at) => `closed-${at}`), null]],
  ]
  for (const [size, envelope] of [
    ['short', '{}'],
    ['long', LONG],
  ] as const) {
    test.each(cases)(
      `spec 9.3, 9.4: %s, ${size}: every page size gives each row that may be seen, once and in order`,
      async (_name, boards) => {
        const rows = rowsOf(boards, envelope)
        const isOpen = (board: string) => board.startsWith('open')
        const expected = rows.filter(({ board }) => board === null || isOpen(board)).map(({ position }) => position)
        for (const limit of [1, 2, 3, 10, 100]) {
          expect({ limit, found: (await readAll(rows, limit, isOpen)).found }).toEqual({ limit, found: expected })
        }
      },
    )
  }

  test('spec 9.4: a page is full even if the agent left a board, however many posts the board has', async () => {
    const rows = rowsOf(
      Array.from({ length: 100 }, (_, at) => (at % 10 === 9 ? null : 'closed')),
      '{}',
    )
    expect((await readAll(rows, 5, () => false)).pages).toBe(2)
  })

  test('the boards service is not called if there is no post', async () => {
    const allow = () => Promise.reject(new Error('asked about nothing'))
    const rows = rowsOf([null, null], '{}')
    expect(await listVisible({ limit: 3, look: async () => ({ rows }), allow })).toMatchObject({ rows, more: false })
  })
})
