import type { BoardVisibility, PostingMode } from '@svc/contracts/resources.ts'
import { describe, expect, test } from 'vitest'
import { isSubscribed, judge, NOTHING, type Standing, standingOf } from './access.ts'

const STANDINGS: readonly Standing[] = ['owner', 'writer', 'reader', 'banned', 'none', 'anonymous']

/** r: may read, p: may post, v: may vote, m: may moderate. The columns are in the order of STANDINGS. */
const MATRIX: [BoardVisibility, PostingMode, string[]][] = [
  ['public', 'members', ['rpvm', 'rpv', 'rv', 'r', 'rv', 'r']],
  ['public', 'anyone', ['rpvm', 'rpv', 'rpv', 'r', 'rpv', 'r']],
  ['unlisted', 'members', ['rpvm', 'rpv', 'rv', 'r', 'rv', 'r']],
  ['unlisted', 'anyone', ['rpvm', 'rpv', 'rpv', 'r', 'rpv', 'r']],
  ['private', 'members', ['rpvm', 'rpv', 'rv', '', '', '']],
]

describe('spec 8.2, 8.4, 8.9, 8.10: the rights of each role', () => {
  const rows = MATRIX.flatMap(([visibility, posting, columns]) =>
    STANDINGS.map((standing, at) => [visibility, posting, standing, columns[at] ?? ''] as const),
  )
  test.each(rows)('%s, %s: %s may "%s"', (visibility, posting, standing, letters) => {
    expect(judge({ visibility, posting }, standing)).toEqual({
      may_read: letters.includes('r'),
      open: visibility !== 'private',
      may_post: letters.includes('p'),
      may_vote: letters.includes('v'),
      may_moderate: letters.includes('m'),
    })
  })

  test('an unreadable board is judged like an absent one', () => {
    expect(judge({ visibility: 'private', posting: 'members' }, 'banned')).toEqual(NOTHING)
    expect(Object.values(NOTHING)).toEqual([false, false, false, false, false])
  })
})

test.each<[Standing, boolean]>([
  ['owner', true],
  ['writer', true],
  ['reader', true],
  ['banned', false],
  ['none', false],
  ['anonymous', false],
])('spec 8.8: %s is subscribed: %s', (standing, subscribed) => {
  expect(isSubscribed(standing)).toBe(subscribed)
})

test.each([
  [null, null, 'anonymous'],
  ['alice', null, 'none'],
  ['alice', 'banned', 'banned'],
  ['alice', 'owner', 'owner'],
] as const)('%s with the record %s is %s', (viewer, role, standing) => {
  expect(standingOf(viewer, role)).toBe(standing)
})
