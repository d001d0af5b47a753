import { computed, type ReadonlySignal, signal } from '@preact/signals'
import type { Agent } from '@svc/contracts/resources.ts'
import { isSameAuthority } from '@svc/envelope/address.ts'
import type { KnownAgent } from '@svc/sdk/messages/people.ts'
import { isAgentId } from '@svc/svc1/agent-id.ts'
import { attempt, hasCode } from '../failures.ts'
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
export interface People {
  /** Names that can be offered for a new message. */
  readonly names: ReadonlySignal<readonly string[]>
  load(): Promise<void>
  /** The agent, if it was met since the page was loaded. */
  find(who: string): Person | undefined
  isOwn(who: string): boolean
  /**
   * Finds the agent of a name or an address in what is kept, or asks the service. An id is also looked for in the directory.
   * @returns undefined if nobody knows. @throws VerificationError `key_changed`.
   */
  meet(who: string): Promise<Person | undefined>
  /** Finds the agent of an id in what is kept. Asks nobody. */
  recall(agentId: string): Promise<Person | undefined>
  /** @throws ApiError `not_found` for a name that the service does not know. @throws VerificationError `key_changed`. */
  idOf(who: string): Promise<string>
  /** Asks the service for the key of a name, even if one is kept. @throws like `idOf`. */
  lookUp(name: string): Promise<Person>
  /** Pins the key of a known agent, or one that was received outside the service. @returns its agent id. */
  pin(pubkey: string, name?: string): Promise<string>
  unpin(agentId: string): Promise<void>
  /** Reads the public directory, up to a bound, unless it was read a short while ago. */
  readDirectory(): Promise<void>
}

/** The directory is not read again for strangers more often than this. */
const READ_AGAIN_MS = 30_000
const DIRECTORY_PAGES = 10
const PAGE_SIZE = 100

export function createPeople({ client, key, store, name, authority, ended }: AgentContext): People {
  const known = signal<ReadonlyMap<string, Person>>(new Map())
  const byName = computed(() => new Map([...known.value.values()].map((person) => [person.name, person])))
  /** Claims of the service. The key of a name counts only once the SDK has pinned it. */
  const listed = signal<ReadonlyMap<string, Agent>>(new Map())
  const meetings = new Map<string, Promise<Person | undefined>>()
  let reading: Promise<void> | undefined
  let readMs = Number.NEGATIVE_INFINITY
  const call = { signal: ended }

  function learn(person: Person): Person {
    const before = known.value.get(person.agentId)
    if (before !== undefined && person.source === 'directory' && before.name !== undefined) return before
    // What a person has pinned stays a pin, and gets its name from the service.
    const learnt = before?.source === 'pinned' ? { ...before, name: person.name } : person
    known.value = new Map(known.value).set(person.agentId, learnt)
    return learnt
  }

  function met({ agentId, name, pubkey }: KnownAgent): Person {
    return learn({ agentId, name, pubkey, source: 'directory' })
  }

  /** Undefined for an address of another service. */
  function nameIn(who: string): string | undefined {
    const [name, host] = who.split('@')
    return host === undefined || isSameAuthority(host, authority.value ?? '') ? name : undefined
  }

  function find(who: string): Person | undefined {
    if (isAgentId(who)) return known.value.get(who)
    const name = nameIn(who)
    return name === undefined ? undefined : byName.value.get(name)
  }

  async function meetName(who: string): Promise<Person | undefined> {
    if (nameIn(who) === undefined) return undefined
    try {
      return met(await client.resolve(who, call))
    } catch (error) {
      if (hasCode(error, 'not_found')) return undefined
      throw error
    }
  }

  async function recall(agentId: string): Promise<Person | undefined> {
    const isKept = (await client.nameOf(agentId)) !== undefined
    return isKept ? met(await client.resolve(agentId, call)) : known.value.get(agentId)
  }

  async function meetId(agentId: string): Promise<Person | undefined> {
    const kept = await recall(agentId)
    if (kept !== undefined) return kept
    await readDirectory()
    const found = listed.value.get(agentId)
    if (found === undefined) return undefined
    const pinned = await client.pin(found.name, found.pubkey)
    return pinned.agentId === agentId ? met(pinned) : undefined
  }

  async function readDirectory(): Promise<void> {
    if (reading === undefined && Date.now() - readMs > READ_AGAIN_MS) {
      readMs = Date.now()
      reading = readPages().finally(() => {
        reading = undefined
      })
    }
    await reading
  }

  async function readPages(): Promise<void> {
    const found = new Map<string, Agent>()
    let pages = 0
    for await (const { items } of client.agents({ pageSize: PAGE_SIZE, ...call }).pages()) {
      for (const agent of items) found.set(agent.agent_id, agent)
      pages += 1
      if (pages === DIRECTORY_PAGES) break
    }
    listed.value = found
  }

  return {
    names: computed(() => {
      const met = [...known.value.values()].filter(({ source }) => source !== 'self').flatMap(({ name }) => name ?? [])
      const others = [...listed.value.values()].map(({ name }) => name).filter((one) => one !== name.value)
      return [...new Set([...met, ...others])]
    }),
    async load() {
      const own = name.value
      if (own !== undefined) await client.pin(own, key.pubkey)
      learn({ agentId: key.agentId, pubkey: key.pubkey, name: own, source: 'self' })
      for (const { id: agentId, value } of await store.pins.list()) {
        const { pubkey, name } = value
        client.trust(pubkey)
        const isKept = name !== undefined && (await attempt(() => client.pin(name, pubkey))) !== undefined
        learn({ agentId, pubkey, name: isKept ? name : undefined, source: 'pinned' })
      }
    },
    find,
    recall,
    isOwn: (who) => find(who)?.source === 'self',
    async meet(who) {
      const found = find(who)
      if (found !== undefined) return found
      let meeting = meetings.get(who)
      if (meeting === undefined) {
        meeting = (isAgentId(who) ? meetId(who) : meetName(who)).finally(() => meetings.delete(who))
        meetings.set(who, meeting)
      }
      return meeting
    },
    async idOf(who) {
      return isAgentId(who) ? who : met(await client.resolve(who, call)).agentId
    },
    async lookUp(wanted) {
      const { agent_id, name, pubkey } = await client.lookup(wanted, call)
      return met({ agentId: agent_id, name, pubkey })
    },
    async pin(pubkey, wanted) {
      const agentId = client.trust(pubkey)
      const named = wanted ?? known.value.get(agentId)?.name
      if (named !== undefined) await client.pin(named, pubkey)
      learn({ agentId, pubkey, name: named, source: 'pinned' })
      await store.pins.put(agentId, { pubkey, name: named, pinnedAtMs: Date.now() })
      return agentId
    },
    async unpin(agentId) {
      const person = known.value.get(agentId)
      if (person?.source !== 'pinned') return
      const next = new Map(known.value)
      // A key without a name can only come from the pin, so it is forgotten.
      if (person.name === undefined) next.delete(agentId)
      else next.set(agentId, { ...person, source: 'directory' })
      known.value = next
      await store.pins.delete(agentId)
    },
    readDirectory,
  }
}

/** A short text for an agent: its name, or else what was given. Names of agents are plain ASCII. */
export function labelOf(people: People, who: string): string {
  return people.find(who)?.name ?? (isAgentId(who) ? shortId(who) : who)
}
