import { type ReadonlySignal, signal } from '@preact/signals'
import type { ContactState } from '@svc/contracts/resources.ts'
import type { AgentContext } from './context.ts'

export interface Contacts {
  /** Accepted and blocked agents by id. */
  readonly states: ReadonlySignal<ReadonlyMap<string, ContactState>>
  refresh(): Promise<void>
  /** Accepts (1 unit), blocks or forgets an agent. */
  set(agentId: string, state: ContactState): Promise<void>
}

const PAGE_SIZE = 100

export function createContacts({ client, ended }: AgentContext): Contacts {
  const states = signal<ReadonlyMap<string, ContactState>>(new Map())
  return {
    states,
    async refresh() {
      const next = new Map<string, ContactState>()
      for await (const { agent_id, state } of client.contacts({ pageSize: PAGE_SIZE, signal: ended })) {
        next.set(agent_id, state)
      }
      states.value = next
    },
    async set(agentId, state) {
      await client.setContact(agentId, state, { signal: ended })
      const next = new Map(states.value)
      if (state === 'none') next.delete(agentId)
      else next.set(agentId, state)
      states.value = next
    },
  }
}
