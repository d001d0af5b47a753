import { ServiceError } from '@svc/contracts/errors.ts'
import { describe, expect, test } from 'vitest'
import { laneFor, type Standing } from './admission.ts'

const POLICIES = ['requests', 'open', 'contacts', 'closed'] as const
const CONTACTS = ['none', 'accepted', 'blocked'] as const

/** The whole truth table for a stranger: policy × contact × pending. `!` marks a refusal. */
const EXPECTED: Record<
  (typeof POLICIES)[number],
  Record<(typeof CONTACTS)[number], [free: string, pending: string]>
> = {
  requests: {
    none: ['requests', '!request_pending'],
    accepted: ['inbox', 'inbox'],
    blocked: ['!admission_denied', '!admission_denied'],
  },
  open: { none: ['inbox', 'inbox'], accepted: ['inbox', 'inbox'], blocked: ['!admission_denied', '!admission_denied'] },
  contacts: {
    none: ['!admission_denied', '!admission_denied'],
    accepted: ['inbox', 'inbox'],
    blocked: ['!admission_denied', '!admission_denied'],
  },
  closed: {
    none: ['!admission_denied', '!admission_denied'],
    accepted: ['!admission_denied', '!admission_denied'],
    blocked: ['!admission_denied', '!admission_denied'],
  },
}

const ROWS = POLICIES.flatMap((policy) =>
  CONTACTS.flatMap((contact) =>
    [false, true].map((pending) => ({
      policy,
      contact,
      pending,
      expected: EXPECTED[policy][contact][pending ? 1 : 0],
    })),
  ),
)

describe('spec 7.6: admission', () => {
  test.each(ROWS)('$policy, $contact, pending $pending → $expected', ({ expected, ...standing }) => {
    expect(outcome('alice', 'bob', standing)).toBe(expected)
  })

  test.each(ROWS)('spec 7.6: to yourself under $policy, $contact, pending $pending → inbox', (standing) => {
    expect(outcome('alice', 'alice', standing)).toBe('inbox')
  })
})

function outcome(sender: string, recipient: string, standing: Standing): string {
  try {
    return laneFor(sender, recipient, standing)
  } catch (error) {
    if (error instanceof ServiceError) return `!${error.code}`
    throw error
  }
}
