import { ServiceError } from '@svc/contracts/errors.ts'
import { describe, expect, test } from 'vitest'
import { checkModerate, checkPost, checkVote } from './board-access.ts'

const verdicts = (...granted: string[]) => ({
  may_read: granted.includes('read'),
  open: false,
  may_post: granted.includes('post'),
  may_vote: granted.includes('vote'),
  may_moderate: granted.includes('moderate'),
})
const outcome = (check: () => void): string => {
  try {
    check()
    return 'ok'
  } catch (error) {
    if (error instanceof ServiceError) return error.code
    throw error
  }
}

/** The verdict of boards on each kind of viewer: may it read (spec 8.2), post (spec 8.4), hide (spec 8.9), vote (spec 8.10)? */
const VIEWERS = {
  nobody: verdicts(),
  banned: verdicts('read'),
  reader: verdicts('read', 'vote'),
  writer: verdicts('read', 'post', 'vote'),
  owner: verdicts('read', 'post', 'vote', 'moderate'),
}
type Viewer = keyof typeof VIEWERS

describe('spec 8.2, 8.4, 8.9: the decisions that follow from an answer of boards', () => {
  const rows: [Viewer, post: string, moderate: string][] = [
    ['nobody', 'not_found', 'not_found'],
    ['banned', 'forbidden', 'forbidden'],
    ['reader', 'forbidden', 'forbidden'],
    ['writer', 'ok', 'forbidden'],
    ['owner', 'ok', 'ok'],
  ]
  test.each(rows)('%s: posting %s, hiding %s', (viewer, ...expected) => {
    const access = VIEWERS[viewer]
    expect([outcome(() => checkPost(access)), outcome(() => checkModerate(access))]).toEqual(expected)
  })

  const votes: [Viewer, plain: string, hidden: string, own: string][] = [
    ['nobody', 'not_found', 'not_found', 'not_found'],
    ['banned', 'forbidden', 'not_found', 'forbidden'],
    ['reader', 'ok', 'not_found', 'own_post'],
    ['writer', 'ok', 'not_found', 'own_post'],
    ['owner', 'ok', 'ok', 'own_post'],
  ]
  test.each(votes)('spec 8.10: %s votes: %s, on a hidden post %s, on their own %s', (viewer, ...expected) => {
    const access = VIEWERS[viewer]
    expect([
      outcome(() => checkVote(access, { hidden: false, isOwn: false })),
      outcome(() => checkVote(access, { hidden: true, isOwn: false })),
      outcome(() => checkVote(access, { hidden: false, isOwn: true })),
    ]).toEqual(expected)
  })
})
