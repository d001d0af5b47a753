import type { Contact, ContactEntry, ContactState } from '@svc/contracts/resources.ts'
import { ApiError } from '../errors.ts'
import type { Listing } from '../http/listing.ts'
import type { CallOptions, PageOptions } from '../http/options.ts'
import { Lines } from '../lines.ts'
import type { Store } from '../store/store.ts'

/** The result of accepting somebody's answers: `already` was accepted before, `blocked` stays blocked. */
export type Acceptance = 'accepted' | 'already' | 'blocked'

export interface AcceptOptions extends CallOptions {
  /** Ask for the state even if this client accepted the agent before: another program may have taken it back. Default false. */
  readonly afresh?: boolean | undefined
}

interface Calls {
  readonly contacts: (options: PageOptions) => Listing<ContactEntry>
  readonly put: (agentId: string, state: ContactState, options: CallOptions) => Promise<Contact>
  /** Is not repeated if no answer comes. */
  readonly putOnce: (agentId: string, state: ContactState, options: CallOptions) => Promise<Contact>
}

/** In the store: the ids of the contacts that the client accepted by itself. */
const MARK = 'accepted/'
/** Before each of them the state is asked for, because somebody may have blocked the agent meanwhile. */
const MAX_ATTEMPTS = 3

/**
 * Contacts that the client accepts by itself, so that the answer to a message can reach its sender. Each of them is marked in
 * the store, until somebody sets the state of the contact.
 */
export class Acceptances {
  readonly #calls: Calls
  readonly #store: Store | undefined
  /** Accepted as far as this process knows, so that not every message asks for the state of its recipient. */
  readonly #accepted = new Set<string>()
  /** Calls for one agent run one after the other. Otherwise an acceptance that began before a block could undo it. */
  readonly #lines = new Lines(Number.POSITIVE_INFINITY)

  constructor(calls: Calls, store: Store | undefined) {
    this.#calls = calls
    this.#store = store
  }

  /** Accepts an agent that has no state. Never changes a block. */
  accept(agentId: string, options: AcceptOptions): Promise<Acceptance> {
    return this.#lines.run(agentId, () => this.#accept(agentId, options))
  }

  /** Sets a state that somebody asked for. */
  set(agentId: string, state: ContactState, options: CallOptions): Promise<Contact> {
    return this.#lines.run(agentId, async () => {
      this.#accepted.delete(agentId)
      const contact = await this.#calls.put(agentId, state, options)
      await this.#store?.delete(MARK + agentId)
      return contact
    })
  }

  async #accept(agentId: string, { afresh = false, ...options }: AcceptOptions): Promise<Acceptance> {
    if (this.#accepted.has(agentId) && !afresh) return 'already'
    for (let attempt = 1; ; attempt += 1) {
      const state = await this.stateOf(agentId, options)
      if (state === 'blocked') return 'blocked'
      if (state === 'none') {
        // The mark comes first, because a process that is killed between the two must not leave a contact that is not listed.
        await this.#store?.set(MARK + agentId, '')
        try {
          await this.#calls.putOnce(agentId, 'accepted', options)
        } catch (error) {
          if (error instanceof ApiError) await this.#store?.delete(MARK + agentId)
          if (error instanceof ApiError || attempt === MAX_ATTEMPTS) throw error
          continue
        }
      }
      this.#accepted.add(agentId)
      return state === 'none' || attempt > 1 ? 'accepted' : 'already'
    }
  }

  /** The ids of the contacts that the client accepted by itself and that are still accepted. */
  async list(options: CallOptions): Promise<string[]> {
    const marks = new Set((await this.#store?.keys(MARK))?.map((key) => key.slice(MARK.length)))
    const ids: string[] = []
    if (marks.size === 0) return ids
    for await (const { agent_id, state } of this.#calls.contacts(options))
      if (state === 'accepted' && marks.has(agent_id)) ids.push(agent_id)
    return ids
  }

  /** The state of one agent, as the service has it now. */
  async stateOf(agentId: string, options: CallOptions): Promise<ContactState> {
    // Contacts are sorted by id, and `after` need not exist: the shorter text is right before the id.
    const page = await this.#calls.contacts({ ...options, after: agentId.slice(0, -1), pageSize: 1 }).page()
    return page.items.find(({ agent_id }) => agent_id === agentId)?.state ?? 'none'
  }
}
