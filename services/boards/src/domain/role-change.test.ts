import { ServiceError } from '@svc/contracts/errors.ts'
import type { AssignableRole, BoardVisibility, MemberRole } from '@svc/contracts/resources.ts'
import { describe, expect, test } from 'vitest'
import { type Ground, roleChange } from './role-change.ts'

const VISIBILITIES = ['public', 'unlisted', 'private'] as const
const NEXT = ['reader', 'writer', 'banned', 'none'] as const
const FULL = 100

type Outcome = string | number

function outcomeOf(ground: Partial<Ground> & { visibility?: BoardVisibility }, next: AssignableRole): Outcome {
  const { visibility = 'public', ...rest } = ground
  const whole: Ground = {
    board: { visibility, posting: 'members' },
    own: false,
    caller: 'owner',
    current: 'none',
    standing: 'active',
    blocked: false,
    records: 0,
    ...rest,
  }
  try {
    return roleChange(whole, next)
  } catch (error) {
    if (error instanceof ServiceError) return error.code
    throw error
  }
}

describe('spec 8.5, 8.7: the role that an agent may set on itself', () => {
  // Columns in the order of NEXT.
  const ROWS: [readonly BoardVisibility[], MemberRole | 'none', Outcome[]][] = [
    [['public', 'unlisted'], 'none', [1, 'forbidden', 'forbidden', 'nothing']],
    [['public', 'unlisted'], 'reader', ['nothing', 'forbidden', 'forbidden', 0]],
    [['public', 'unlisted'], 'writer', [0, 'nothing', 'forbidden', 0]],
    [['public', 'unlisted'], 'banned', ['forbidden', 'forbidden', 'nothing', 'forbidden']],
    [['private'], 'none', ['not_found', 'not_found', 'not_found', 'not_found']],
    [['private'], 'reader', ['nothing', 'forbidden', 'forbidden', 0]],
    [['private'], 'writer', ['forbidden', 'nothing', 'forbidden', 0]],
    [['private'], 'banned', ['not_found', 'not_found', 'not_found', 'not_found']],
    [VISIBILITIES, 'owner', ['owner_role', 'owner_role', 'owner_role', 'owner_role']],
  ]
  const rows = ROWS.flatMap(([visibilities, current, outcomes]) =>
    visibilities.flatMap((visibility) =>
      NEXT.map((next, at) => [visibility, current, next, outcomes[at] ?? ''] as const),
    ),
  )
  test.each(rows)('%s: from %s to %s: %s', (visibility, current, next, outcome) => {
    expect(outcomeOf({ visibility, own: true, caller: current, current }, next)).toBe(outcome)
  })
})

describe('spec 8.5, 8.7: the roles that the owner may assign to other agents, and their cost', () => {
  const ROWS: [MemberRole | 'none', Outcome[]][] = [
    ['none', [1, 1, 0, 'nothing']],
    ['reader', ['nothing', 0, 0, 0]],
    ['writer', [0, 'nothing', 0, 0]],
    ['banned', [1, 1, 'nothing', 0]],
  ]
  const rows = VISIBILITIES.flatMap((visibility) =>
    ROWS.flatMap(([current, outcomes]) =>
      NEXT.map((next, at) => [visibility, current, next, outcomes[at] ?? ''] as const),
    ),
  )
  test.each(rows)('%s: from %s to %s: %s', (visibility, current, next, outcome) => {
    expect(outcomeOf({ visibility, current }, next)).toBe(outcome)
  })
})

describe('spec 8.5: no agent except the owner may set the role of another agent', () => {
  const CALLERS: readonly Ground['caller'][] = ['writer', 'reader', 'banned', 'none']
  const rows = VISIBILITIES.flatMap((visibility) =>
    CALLERS.flatMap((caller) =>
      (['owner', 'writer', 'reader', 'banned', 'none'] as const).map(
        (current) => [visibility, caller, current] as const,
      ),
    ),
  )
  test.each(rows)('%s: a caller with role %s, and another agent with role %s', (visibility, caller, current) => {
    const seen = visibility !== 'private' || caller === 'writer' || caller === 'reader'
    for (const next of NEXT) {
      expect(outcomeOf({ visibility, caller, current }, next)).toBe(seen ? 'forbidden' : 'not_found')
    }
  })
})

describe('spec 8.6: the agent that gets the role', () => {
  test.each([
    ['none', 'reader', 'agent_revoked'],
    ['none', 'writer', 'agent_revoked'],
    ['banned', 'reader', 'agent_revoked'],
    ['reader', 'writer', 'agent_revoked'],
    ['reader', 'reader', 'nothing'],
    ['none', 'banned', 0],
    ['writer', 'none', 0],
    ['none', 'none', 'nothing'],
  ] as const)('a revoked agent from %s to %s: %s', (current, next, outcome) => {
    expect(outcomeOf({ current, standing: 'revoked' }, next)).toBe(outcome)
  })

  test.each(NEXT)('an unknown agent cannot get the role %s', (next) => {
    expect(outcomeOf({ standing: 'unknown' }, next)).toBe('not_found')
  })

  test('a forbidden change gets the same answer for unknown and revoked agents', () => {
    for (const standing of ['unknown', 'revoked', 'active'] as const) {
      expect(outcomeOf({ caller: 'reader', standing }, 'reader')).toBe('forbidden')
      expect(outcomeOf({ caller: 'none', visibility: 'private', standing }, 'reader')).toBe('not_found')
    }
  })
})

describe('spec 8.7: readers, writers and banned agents are records, at most 100', () => {
  test.each([
    [FULL - 1, 'none', 'reader', 1],
    [FULL, 'none', 'reader', 'membership_limit'],
    [FULL, 'none', 'writer', 'membership_limit'],
    [FULL, 'none', 'banned', 'membership_limit'],
    [FULL - 1, 'none', 'banned', 0],
    [FULL, 'none', 'none', 'nothing'],
    [FULL, 'reader', 'writer', 0],
    [FULL, 'banned', 'reader', 1],
    [FULL, 'writer', 'none', 0],
  ] as const)('with %d records, from %s to %s: %s', (records, current, next, outcome) => {
    expect(outcomeOf({ records, current }, next)).toBe(outcome)
  })

  test('a revoked agent is refused before the limit is checked', () => {
    expect(outcomeOf({ records: FULL, standing: 'revoked' }, 'reader')).toBe('agent_revoked')
  })
})

describe('spec 8.6: an agent that has blocked the owner', () => {
  // Columns in the order of NEXT.
  const ROWS: [MemberRole | 'none', Outcome[]][] = [
    ['none', ['admission_denied', 'admission_denied', 0, 'nothing']],
    ['reader', ['nothing', 'admission_denied', 0, 0]],
    ['writer', [0, 'nothing', 0, 0]],
    ['banned', ['admission_denied', 'admission_denied', 'nothing', 0]],
  ]
  const rows = ROWS.flatMap(([current, outcomes]) =>
    NEXT.map((next, at) => [current, next, outcomes[at] ?? ''] as const),
  )
  test.each(rows)('the owner sets its role from %s to %s: %s', (current, next, outcome) => {
    for (const visibility of VISIBILITIES) expect(outcomeOf({ visibility, current, blocked: true }, next)).toBe(outcome)
  })

  test('the agent itself may subscribe', () => {
    expect(outcomeOf({ own: true, caller: 'none', blocked: true }, 'reader')).toBe(1)
  })

  test('faults of the board and of the agent come first', () => {
    expect(outcomeOf({ blocked: true, standing: 'revoked' }, 'reader')).toBe('agent_revoked')
    expect(outcomeOf({ blocked: true, records: FULL }, 'reader')).toBe('membership_limit')
    expect(outcomeOf({ blocked: true, standing: 'unknown' }, 'reader')).toBe('not_found')
    expect(outcomeOf({ blocked: true, caller: 'reader' }, 'reader')).toBe('forbidden')
  })
})
