import { LIMITS } from '@svc/contracts/limits.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { eventsText, type ListedRow, messageListText, takePage } from './pages.ts'

const rowOf = (envelope: string | null): ListedRow => ({
  lane: 'inbox',
  accepted_at: 1_800_000_000,
  expires_at: 1_800_000_100,
  acked: false,
  envelope,
})
const ofBytes = (bytes: number): ListedRow => rowOf(`"${'x'.repeat(bytes - 2)}"`)

describe('spec 7.9: a page ends at its limit or at 512 KiB', () => {
  test('for any sizes it holds at least one row and at most the limit, and ends only before a row that does not fit', () => {
    const sizes = fc.array(fc.integer({ min: 2, max: LIMITS.requestBytes }), { minLength: 1, maxLength: 101 })
    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 100 }), (all, limit) => {
        const rows = all.slice(0, limit + 1).map(ofBytes)
        const page = takePage(rows, limit)
        const bytes = page.texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0)
        expect(page.rows.length).toBeGreaterThan(0)
        expect(page.rows.length).toBeLessThanOrEqual(limit)
        expect(page.rows).toEqual(rows.slice(0, page.rows.length))
        expect(page.more).toBe(page.rows.length < rows.length)
        if (page.rows.length > 1) expect(bytes).toBeLessThanOrEqual(LIMITS.pageBytes)
        if (page.more && page.rows.length < limit) {
          const next = takePage(rows.slice(page.rows.length), 1).texts[0] ?? ''
          expect(bytes + Buffer.byteLength(next) + 1).toBeGreaterThan(LIMITS.pageBytes)
        }
      }),
    )
  })

  test('the limit counts bytes, not characters', () => {
    const umlauts = rowOf(`"${'ü'.repeat(LIMITS.pageBytes / 4)}"`)
    expect(takePage([umlauts, umlauts], 10).rows).toHaveLength(1)
  })

  test('one message that is larger than a page is a page', () => {
    const page = takePage([ofBytes(LIMITS.pageBytes + 1), ofBytes(2)], 10)
    expect(page).toMatchObject({ rows: [expect.anything()], more: true })
  })

  test('a row whose envelope was not read ends the page', () => {
    expect(takePage([ofBytes(10), rowOf(null)], 10)).toMatchObject({ rows: [expect.anything()], more: true })
  })

  test('a page without rows is the end of the list', () => {
    expect(takePage([], 10)).toEqual({ rows: [], texts: [], more: false })
  })
})

describe('spec 7.9, 9.4: the text of a page', () => {
  test('it contains the text of each envelope unchanged', () => {
    const envelope = '{"body":1.0e+2,"id":"\\u0041\\u0000"}'
    const { texts } = takePage([rowOf(envelope), rowOf('{}')], 10)
    const text = messageListText(texts, 'next')
    expect(text).toContain(envelope)
    expect(JSON.parse(text)).toEqual({
      messages: [
        {
          envelope: { body: 100, id: 'A\0' },
          lane: 'inbox',
          created_at: 1_800_000_000,
          expires_at: 1_800_000_100,
          acked: false,
          upvotes: 0,
        },
        { envelope: {}, lane: 'inbox', created_at: 1_800_000_000, expires_at: 1_800_000_100, acked: false, upvotes: 0 },
      ],
      next_cursor: 'next',
    })
  })

  test('events carry their next cursor and the retention', () => {
    expect(JSON.parse(eventsText(['{"a":1}', '{"a":2}'], 7, 0.5))).toEqual({
      events: [{ a: 1 }, { a: 2 }],
      next_cursor: 7,
      retention_days: 1,
    })
    expect(JSON.parse(eventsText([], 0, 30))).toEqual({ events: [], next_cursor: 0, retention_days: 30 })
  })

  test.each([
    [30, 30],
    [0.000_01, 1],
    [6.5, 7],
    [7, 7],
    [7.000_01, 8],
  ])('spec 6.8: a retention of %d days is answered as %d', (days, answered) => {
    expect(JSON.parse(eventsText([], 0, days))).toMatchObject({ retention_days: answered })
  })
})
