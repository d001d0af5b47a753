import type { Event } from '@svc/contracts/resources.ts'
import { expect, test } from 'vitest'
import { Reader, type ReaderOptions } from './reader.ts'

const eventAt = (cursor: number) => ({ cursor, kind: 'inbox' }) as Event

/** A reader of a log with these cursors. Cursors between them are of events that the agent may not see. */
function start(log: readonly number[], after = 0) {
  const [seen, moves, signal] = [[] as number[], [] as [number, number][], new AbortController()]
  const client = {
    events: ({ after = 0 }) => ({
      async *pages() {
        const items = log.filter((cursor) => cursor > after).map(eventAt)
        yield { items, next: Math.max(after, ...log) }
      },
    }),
  } as unknown as ReaderOptions['client']
  const reader = new Reader({
    client,
    after,
    signal: signal.signal,
    onEvent: ({ cursor }) => seen.push(cursor),
    onMoved: (moved) => moves.push([moved.after, moved.cursor]),
  })
  return { reader, seen, moves, signal }
}

test('each event is given once and in order, whether the stream, another tab or a page brings it', async () => {
  const { reader, seen, moves } = start([2, 5, 9])
  reader.take(eventAt(2))
  reader.take(eventAt(2))
  await Promise.all([reader.catchUp(), reader.catchUp()])
  reader.take(eventAt(5))
  reader.skipTo(7)
  reader.take(eventAt(12))
  expect(seen).toEqual([2, 5, 9, 12])
  expect(moves).toEqual([
    [0, 2],
    [2, 5],
    [5, 9],
    [9, 12],
  ])
})

test('a closed reader gives no more events', () => {
  const { reader, seen, signal } = start([])
  signal.abort()
  reader.take(eventAt(1))
  reader.skipTo(3)
  expect([seen, reader.cursor]).toEqual([[], 0])
})
