import { type ReadonlySignal, signal } from '@preact/signals'
import type { ContactState } from '@svc/contracts/resources.ts'
import type { AgentContext } from './context.ts'
import type { People } from './people.ts'

export interface Contacts {
  /** Accepted and blocked agents by id. */
  readonly states: ReadonlySignal<ReadonlyMap<string, ContactState>>
  /** Agents that were accepted together with a message to them, and that nobody confirmed since. */
  readonly acceptedByMessage: ReadonlySignal<ReadonlySet<string>>
  refresh(): Promise<void>
  /** Accepts (1 unit), blocks or forgets an agent, named by its address or id. */
  set(who: string, state: ContactState): Promise<void>
  /** Accepts the recipient of a message that is about to be sent. Free if it is accepted. A blocked agent stays blocked. */
  acceptReplies(name: string): Promise<void>
  /** The state of an agent, named by its name, address or id, as far as it is known here. */
  stateOf(who: string): ContactState | undefined
}

const PAGE_SIZE = 100

export function createContacts({ client, ended }: AgentContext, people: People): Contacts {
  const states = signal<ReadonlyMap<string, ContactState>>(new Map())
  const acceptedByMessage = signal<ReadonlySet<string>>(new Set())
  const call = { signal: ended }

  function show(agentId: string, state: ContactState, isByMessage: boolean): void {
    const next = new Map(states.value)
    if (state === 'none') next.delete(agentId)
    else next.set(agentId, state)
    states.value = next
    const marked = new Set(acceptedByMessage.value)
    if (isByMessage) marked.add(agentId)
    else marked.delete(agentId)
    acceptedByMessage.value = marked
  }

  return {
    states,
    acceptedByMessage,
    async refresh() {
      const next = new Map<string, ContactState>()
      for await (const { agent_id, state } of client.contacts({ pageSize: PAGE_SIZE, ...call })) {
        next.set(agent_id, state)
      }
      states.value = next
      acceptedByMessage.value = new Set((await client.acceptedByItself(call)).map(({ agentId }) => agentId))
    },
    async set(who, state) {
      const agentId = await people.idOf(who)
      await client.setContact(agentId, state, call)
      show(agentId, state, false)
    },
    async acceptReplies(name) {
      const acceptance = await client.acceptReplies(name, call)
      if (acceptance === 'accepted') show(await people.idOf(name), 'accepted', true)
    },
    stateOf: (who) => states.value.get(people.find(who)?.agentId ?? who),
  }
}
