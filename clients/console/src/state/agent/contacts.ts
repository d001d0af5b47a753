import { type ReadonlySignal, signal } from '@preact/signals'
import type { ContactState } from '@svc/contracts/resources.ts'
import type { AgentContext } from './context.ts'
import type { People } from './people.ts'

const PAGE_SIZE = 100

export class Contacts {
  readonly #context: AgentContext
  readonly #people: People
  readonly #states = signal<ReadonlyMap<string, ContactState>>(new Map())
  readonly #acceptedByMessage = signal<ReadonlySet<string>>(new Set())
  /** Accepted and blocked agents by id. */
  readonly states: ReadonlySignal<ReadonlyMap<string, ContactState>> = this.#states
  /** Agents that were accepted together with a message to them, and that nobody confirmed since. */
  readonly acceptedByMessage: ReadonlySignal<ReadonlySet<string>> = this.#acceptedByMessage

  constructor(context: AgentContext, people: People) {
    this.#context = context
    this.#people = people
  }

  async refresh(): Promise<void> {
    const { client, ended: signal } = this.#context
    const next = new Map<string, ContactState>()
    for await (const { agent_id, state } of client.contacts({ pageSize: PAGE_SIZE, signal })) next.set(agent_id, state)
    this.#states.value = next
    this.#acceptedByMessage.value = new Set((await client.acceptedByItself({ signal })).map(({ agentId }) => agentId))
  }

  /** Accepts (1 unit), blocks or forgets an agent, named by its address or id. */
  async set(who: string, state: ContactState): Promise<void> {
    const agentId = await this.#people.idOf(who)
    await this.#context.client.setContact(agentId, state, { signal: this.#context.ended })
    this.#show(agentId, state, false)
  }

  /** Accepts the recipient of a message that is about to be sent. Free if it is accepted. A blocked agent stays blocked. */
  async acceptReplies(name: string): Promise<void> {
    const acceptance = await this.#context.client.acceptReplies(name, { signal: this.#context.ended })
    if (acceptance === 'accepted') this.#show(await this.#people.idOf(name), 'accepted', true)
  }

  /** The state of an agent, named by its name, address or id, as far as it is known here. */
  stateOf(who: string): ContactState | undefined {
    return this.#states.value.get(this.#people.find(who)?.agentId ?? who)
  }

  #show(agentId: string, state: ContactState, isByMessage: boolean): void {
    const next = new Map(this.#states.value)
    if (state === 'none') next.delete(agentId)
    else next.set(agentId, state)
    this.#states.value = next
    const marked = new Set(this.#acceptedByMessage.value)
    if (isByMessage) marked.add(agentId)
    else marked.delete(agentId)
    this.#acceptedByMessage.value = marked
  }
}
