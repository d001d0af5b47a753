import type { Event } from '@svc/contracts/resources.ts'
import { expect, test } from 'vitest'
import { fullPages } from './event-pages.ts'

const event = (cursor: number) => ({ cursor }) as Event

/** A page of the service: the cursors of its events, and the cursors in its answer. */
interface Answer {
  readonly cursors: readonly number[]
  readonly next: number
  readonly latest?: number
}

const CASES: [string, Answer[], [number[], number | ''][]][] = [
  ['an empty log', [{ cursors: [], next: 0, latest: 0 }], []],
  ['one short page', [{ cursors: [1], next: 1, latest: 1 }], [[[1], '']]],
  [
    'positions that a restore left empty',
    [
      { cursors: [1], next: 10_000, latest: 10_002 },
      { cursors: [10_002], next: 10_002, latest: 10_002 },
    ],
    [[[1, 10_002], '']],
  ],
  [
    'a page of skipped events, then more than a page',
    [
      { cursors: [], next: 10, latest: 13 },
      { cursors: [11, 12], next: 12, latest: 13 },
      { cursors: [13], next: 13, latest: 13 },
    ],
    [
      [[11, 12], 12],
      [[13], ''],
    ],
  ],
  [
    'a service that does not say where the log ends',
    [
      { cursors: [1, 2], next: 2 },
      { cursors: [3], next: 3 },
    ],
    [
      [[1, 2], 2],
      [[3], ''],
    ],
  ],
]

test.each(CASES)('spec 9.4: %s: every event is shown, in full pages', async (_, answers, expected) => {
  async function* pages() {
    for (const { cursors, next, latest } of answers) yield { items: cursors.map(event), next, latest }
  }
  const shown: [number[], number | ''][] = []
  for await (const { items, next } of fullPages(pages(), 2)) shown.push([items.map(({ cursor }) => cursor), next])
  expect(shown).toEqual(expected)
})
