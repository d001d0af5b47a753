import { computed, type ReadonlySignal, signal } from '@preact/signals'
import type { Agent } from '@svc/contracts/resources.ts'
import { isSameAuthority } from '@svc/envelope/address.ts'
import { isCode } from '@svc/sdk/errors.ts'
import type { CallOptions } from '@svc/sdk/http/options.ts'
import { Directory } from '@svc/sdk/messages/directory.ts'
import type { KnownAgent } from '@svc/sdk/messages/people.ts'
import { isAgentId } from '@svc/svc1/agent-id.ts'
import { attempt } from '../failures.ts'
import type { AgentContext } from './context.ts'
import { shortId } from './short-id.ts'

/** An agent whose public key this browser knows. An agent id is the hash of its key, so an entry is never stale. */
export interface Person {
  readonly agentId: string
  readonly pubkey: string
  /** Undefined if only the key was given. */
  readonly name?: string | undefined
  /** `pinned`: a person compared the key outside the service. `directory`: the service gave the key for a name. */
  readonly source: 'pinned' | 'directory' | 'self'
}

/** What the views show of the names and keys that the SDK keeps. Agents are given as name, address of this service, or id. */
export class People {
  readonly #context: AgentContext
  readonly #directory: Directory
  readonly #known = signal<ReadonlyMap<string, Person>>(new Map())
  readonly #byName = computed(() => new Map([...this.#known.value.values()].map((person) => [person.name, person])))
  /** Claims of the service. The key of a name counts only once the SDK has pinned it. */
  readonly #listed = signal<ReadonlyMap<string, Agent>>(new Map())
  readonly #meetings = new Map<string, Promise<Person | undefined>>()
  /** Names that can be offered for a new message. */
  readonly names: ReadonlySignal<readonly string[]> = computed(() => {
    const met = [...this.#known.value.values()].filter(({ source }) => source !== 'self')
    const own = this.#context.name.value
    const others = [...this.#listed.value.values()].map(({ name }) => name).filter((name) => name !== own)
    return [...new Set([...met.flatMap(({ name }) => name ?? []), ...others])]
  })

  constructor(context: AgentContext) {
    this.#context = context
    this.#directory = new Directory(context.client)
  }

  async load(): Promise<void> {
    const { client, key, name, store } = this.#context
    const own = name.value
    if (own !== undefined) await client.pin(own, key.pubkey)
    this.#learn({ agentId: key.agentId, pubkey: key.pubkey, name: own, source: 'self' })
    for (const { id: agentId, value } of await store.pins.list()) {
      const { pubkey, name } = value
      client.trust(pubkey)
      const isKept = name !== undefined && (await attempt(() => client.pin(name, pubkey))) !== undefined
      this.#learn({ agentId, pubkey, name: isKept ? name : undefined, source: 'pinned' })
    }
  }

  /** The agent, if it was met since the page was loaded. */
  find(who: string): Person | undefined {
    if (isAgentId(who)) return this.#known.value.get(who)
    const name = this.#nameIn(who)
    return name === undefined ? undefined : this.#byName.value.get(name)
  }

  /** One text for all ways to name an agent: its name, or else its id or address. */
  keyOf(who: string): string {
    return this.find(who)?.name ?? (isAgentId(who) ? who : (this.#nameIn(who) ?? who))
  }

  isOwn(who: string): boolean {
    return this.find(who)?.source === 'self'
  }

  /**
   * Finds the agent of a name or an address in what is kept, or asks the service. An id is also looked for in the directory.
   * @returns undefined if nobody knows. @throws VerificationError `key_changed`.
   */
  async meet(who: string): Promise<Person | undefined> {
    const found = this.find(who)
    if (found !== undefined) return found
    let meeting = this.#meetings.get(who)
    if (meeting === undefined) {
      meeting = (isAgentId(who) ? this.#meetId(who) : this.#meetName(who)).finally(() => this.#meetings.delete(who))
      this.#meetings.set(who, meeting)
    }
    return meeting
  }

  /** Finds the agent of an id in what is kept. Asks nobody. */
  async recall(agentId: string): Promise<Person | undefined> {
    const { client } = this.#context
    const isKept = (await client.nameOf(agentId)) !== undefined
    return isKept ? this.#met(await client.resolve(agentId, this.#call)) : this.#known.value.get(agentId)
  }

  /** @throws ApiError `not_found` for a name that the service does not know. @throws VerificationError `key_changed`. */
  async idOf(who: string): Promise<string> {
    return isAgentId(who) ? who : this.#met(await this.#context.client.resolve(who, this.#call)).agentId
  }

  /** Asks the service for the key of a name, even if one is kept. @throws like `idOf`. */
  async lookUp(wanted: string): Promise<Person> {
    const { agent_id: agentId, name, pubkey } = await this.#context.client.lookup(wanted, this.#call)
    return this.#met({ agentId, name, pubkey })
  }

  /** Pins the key of a known agent, or one that was received outside the service. @returns its agent id. */
  async pin(pubkey: string, wanted?: string): Promise<string> {
    const { client, store } = this.#context
    const agentId = client.trust(pubkey)
    const name = wanted ?? this.#known.value.get(agentId)?.name
    if (name !== undefined) await client.pin(name, pubkey)
    this.#learn({ agentId, pubkey, name, source: 'pinned' })
    await store.pins.put(agentId, { pubkey, name, pinnedAtMs: Date.now() })
    return agentId
  }

  async unpin(agentId: string): Promise<void> {
    const person = this.#known.value.get(agentId)
    if (person?.source !== 'pinned') return
    const next = new Map(this.#known.value)
    // A key without a name can only come from the pin, so it is forgotten.
    if (person.name === undefined) next.delete(agentId)
    else next.set(agentId, { ...person, source: 'directory' })
    this.#known.value = next
    await this.#context.store.pins.delete(agentId)
  }

  /** Reads the beginning of the public directory, for `names`. */
  async readDirectory(): Promise<void> {
    this.#listed.value = await this.#directory.read(this.#context.ended)
  }

  get #call(): CallOptions {
    return { signal: this.#context.ended }
  }

  #learn(person: Person): Person {
    const before = this.#known.value.get(person.agentId)
    if (before !== undefined && person.source === 'directory' && before.name !== undefined) return before
    // What a person has pinned stays a pin, and gets its name from the service.
    const learnt = before?.source === 'pinned' ? { ...before, name: person.name } : person
    this.#known.value = new Map(this.#known.value).set(person.agentId, learnt)
    return learnt
  }

  #met({ agentId, name, pubkey }: KnownAgent): Person {
    return this.#learn({ agentId, name, pubkey, source: 'directory' })
  }

  /** Undefined for an address of another service. */
  #nameIn(who: string): string | undefined {
    const [name, host] = who.split('@')
    return host === undefined || isSameAuthority(host, this.#context.authority.value ?? '') ? name : undefined
  }

  async #meetName(who: string): Promise<Person | undefined> {
    if (this.#nameIn(who) === undefined) return undefined
    try {
      return this.#met(await this.#context.client.resolve(who, this.#call))
    } catch (error) {
      if (isCode(error, 'not_found')) return undefined
      throw error
    }
  }

  async #meetId(agentId: string): Promise<Person | undefined> {
    const kept = await this.recall(agentId)
    if (kept !== undefined) return kept
    await this.readDirectory()
    const found = await this.#directory.find(agentId, this.#context.ended)
    return found && this.#met(found)
  }
}

/** A short text for an agent: its name, or else what was given. Names of agents are plain ASCII. */
export function labelOf(people: People, who: string): string {
  return people.find(who)?.name ?? (isAgentId(who) ? shortId(who) : who)
}
