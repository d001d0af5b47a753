/** The cost of PATCH /v2/me (spec 5.10), for every possible change. */
import type { InboxPolicy, Settings } from '@svc/contracts/resources.ts'
import { expect } from 'vitest'
import type { Agent } from '../../support/client/agent.ts'

const POLICIES: readonly InboxPolicy[] = ['requests', 'open', 'contacts', 'closed']

export type Current = Required<Settings>

export async function usedUnits(agent: Agent): Promise<number> {
  const answer = await agent.get('/v2/budget')
  expect(answer.status, answer.text).toBe(200)
  return answer.body.used_units
}

export async function current(agent: Agent): Promise<Current> {
  const { status, text, body } = await agent.get('/v2/me')
  expect(status, text).toBe(200)
  return { inbox_policy: body.inbox_policy, discoverable: body.discoverable }
}

/** Every possible PATCH body: each member absent, or with each of its values. */
export const PATCHES: readonly Settings[] = [undefined, ...POLICIES].flatMap((inbox_policy) =>
  [undefined, false, true].map((discoverable) => ({
    ...(inbox_policy === undefined ? {} : { inbox_policy }),
    ...(discoverable === undefined ? {} : { discoverable }),
  })),
)
/** spec 5.10: 1 unit if anything changes besides closing the inbox. Closing alone is free, and so is a PATCH that changes nothing. */
export function costOf(before: Current, patch: Settings): number {
  const after = { ...before, ...patch }
  const closes = after.inbox_policy === 'closed' && before.inbox_policy !== 'closed'
  const changesPolicy = after.inbox_policy !== before.inbox_policy
  const changesDiscoverable = after.discoverable !== before.discoverable
  return changesDiscoverable || (changesPolicy && !closes) ? 1 : 0
}
