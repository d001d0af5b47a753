import type { ContactState } from '@svc/contracts/resources.ts'
import { expect, test } from 'vitest'
import { ApiError, NetworkError } from '../errors.ts'
import { createMemoryStore } from '../store/store.ts'
import { Acceptances } from './acceptances.ts'

const BOB = 'b'.repeat(43)

/** Contacts of one agent. `meet` is what the next acceptance meets: its answer is lost, or it is refused. */
function startContacts({ meet }: { meet: (contacts: Map<string, ContactState>) => void }) {
  const contacts = new Map<string, ContactState>()
  const store = createMemoryStore()
  const put = async (agentId: string, state: ContactState) => {
    contacts.set(agentId, state)
    return { agent_id: agentId, state } as never
  }
  const calls = {
    contacts: () =>
      ({
        page: async () => ({ items: [...contacts].map(([agent_id, state]) => ({ agent_id, state })) }),
        async *[Symbol.asyncIterator]() {},
      }) as never,
    put,
    putOnce: async (agentId: string, state: ContactState) => {
      meet(contacts)
      return put(agentId, state)
    },
  }
  return { contacts, store, acceptances: new Acceptances(calls, store) }
}

test('somebody who is blocked after an acceptance got no answer stays blocked', async () => {
  const { contacts, acceptances } = startContacts({
    meet(contacts) {
      contacts.set(BOB, 'blocked')
      throw new NetworkError('no answer')
    },
  })
  expect(await acceptances.accept(BOB, {})).toBe('blocked')
  expect(contacts.get(BOB)).toBe('blocked')
})

test('an acceptance whose answer is lost counts, and one that gets no answer is tried three times', async () => {
  const lost = startContacts({
    meet(contacts) {
      contacts.set(BOB, 'accepted')
      throw new NetworkError('no answer')
    },
  })
  expect(await lost.acceptances.accept(BOB, {})).toBe('accepted')
  let calls = 0
  const down = startContacts({
    meet() {
      calls += 1
      throw new NetworkError('no answer')
    },
  })
  await expect(down.acceptances.accept(BOB, {})).rejects.toThrow(NetworkError)
  expect(calls).toBe(3)
})

test('an acceptance that is refused is not listed', async () => {
  const refused = new ApiError({ status: 429, code: 'budget_exhausted', message: 'no units' })
  const { store, acceptances } = startContacts({
    meet() {
      throw refused
    },
  })
  await expect(acceptances.accept(BOB, {})).rejects.toBe(refused)
  expect(await store.keys('')).toEqual([])
})
