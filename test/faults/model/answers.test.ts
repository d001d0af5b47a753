import { describe, expect, test } from 'vitest'
import { answerToDm, answerToVote, type DmState, type VoteState } from './answers.ts'
import { MAYBE, statesOf } from './possible.ts'

const DM: DmState = {
  signerRevoked: false,
  tooLarge: false,
  earlier: 'none',
  expired: false,
  badReference: false,
  toOneself: false,
  recipientGone: false,
  contact: 'none',
  policy: 'requests',
  pending: false,
  introductionsUsedUp: false,
  ceilingReached: false,
  unitsUsedUp: false,
}

describe('spec 7.2: the answer names the first error in order', () => {
  /** Each error, together with all later ones. */
  const faults: readonly (readonly [Partial<DmState>, string])[] = [
    [{ signerRevoked: true }, '401 signer_revoked'],
    [{ tooLarge: true }, '413 message_too_large'],
    [{ earlier: 'other' }, '409 id_conflict'],
    [{ expired: true }, '400 expired'],
    [{ recipientGone: true }, '404 recipient_unavailable'],
    [{ badReference: true }, '400 invalid_reference'],
    [{ contact: 'blocked' }, '403 admission_denied'],
    [{ pending: true }, '409 request_pending'],
    [{ introductionsUsedUp: true }, '429 introduction_limit_reached'],
    [{ ceilingReached: true }, '429 hard_limit_reached'],
    [{ unitsUsedUp: true }, '429 budget_exhausted'],
  ]
  test.each(faults.map(([, answer], at) => [answer, at] as const))('%s', (answer, at) => {
    const state = Object.assign({}, DM, ...faults.slice(at).map(([fault]) => fault))
    expect(answerToDm(state)).toBe(answer)
  })
})

test('spec 7.6: the lane', () => {
  const rows = (['requests', 'open', 'contacts', 'closed'] as const).flatMap((policy) =>
    (['none', 'accepted', 'blocked'] as const).map((contact) => [
      policy,
      contact,
      answerToDm({ ...DM, policy, contact }),
    ]),
  )
  expect(rows).toEqual([
    ['requests', 'none', '202 requests'],
    ['requests', 'accepted', '202 inbox'],
    ['requests', 'blocked', '403 admission_denied'],
    ['open', 'none', '202 inbox'],
    ['open', 'accepted', '202 inbox'],
    ['open', 'blocked', '403 admission_denied'],
    ['contacts', 'none', '403 admission_denied'],
    ['contacts', 'accepted', '202 inbox'],
    ['contacts', 'blocked', '403 admission_denied'],
    ['closed', 'none', '403 admission_denied'],
    ['closed', 'accepted', '403 admission_denied'],
    ['closed', 'blocked', '403 admission_denied'],
  ])
})

test('an unknown state allows the answers of every possible state', () => {
  const vote: VoteState = {
    signerRevoked: false,
    gone: false,
    hidden: false,
    own: false,
    wanted: true,
    voted: false,
    visibility: 'public',
    posting: 'members',
    role: 'none',
    introductionsUsedUp: false,
    ceilingReached: false,
    unitsUsedUp: false,
  }
  const one = Object.fromEntries(Object.entries(vote).map(([name, value]) => [name, [value]])) as unknown as {
    [Name in keyof VoteState]: VoteState[Name][]
  }
  const allowed = (sets: object): string[] =>
    [...new Set([...statesOf<VoteState>({ ...one, ...sets })].map(answerToVote))].toSorted()
  expect(allowed({})).toEqual(['200'])
  expect(allowed({ hidden: MAYBE, unitsUsedUp: MAYBE })).toEqual(['200', '404 not_found', '429 budget_exhausted'])
  expect(allowed({ hidden: MAYBE, unitsUsedUp: MAYBE, voted: [true] })).toEqual(['200', '404 not_found'])
})
