import { type ReadonlySignal, signal } from '@preact/signals'
import type { Agent } from '@svc/contracts/resources.ts'
import type { AgentContext } from './context.ts'

/** An agent whose public key this browser knows. An agent id is the hash of its key, so an entry is never stale. */
export interface Person {
  readonly agentId: string
  readonly pubkey: string
  /** Undefined if only the key was given. */
  readonly name?: string | undefined
  /** `pinned`: a person compared the key outside the service. `directory`: the service gave the key for a name. */
  readonly source: 'pinned' | 'directory' | 'self'
}

export interface People {
  readonly known: ReadonlySignal<ReadonlyMap<string, Person>>
  load(): Promise<void>
  /** Asks the service for the key of a name. @throws ApiError `not_found`. */
  lookUp(name: string): Promise<Person>
  /** Pins the key of a known agent, or one that was received outside the service. @returns its agent id. */
  pin(pubkey: string, name?: string): Promise<string>
  unpin(agentId: string): Promise<void>
  /** Learns the names of the public directory, up to a bound. */
  readDirectory(): Promise<void>
  /** Looks for a sender in the directory, which may have got it since it was read. */
  seek(agentId: string): Promise<void>
}

const RECORD = 'people'
const MAX_ASKED = 1_000
/** A directory is not read again for strangers more often than this. */
const SEEK_AGAIN_MS = 10_000
const DIRECTORY_PAGES = 10
const PAGE_SIZE = 100

export function createPeople({ client, key, store, name, ended }: AgentContext): People {
  const known = signal<ReadonlyMap<string, Person>>(new Map())
  const asked = new Map<string, Person>()
  let soughtMs = Number.NEGATIVE_INFINITY

  async function load(): Promise<void> {
    const fromDirectory = ((await store.preferences.get(RECORD)) ?? []) as readonly Person[]
    const pins = await store.pins.list()
    for (const person of fromDirectory) asked.set(person.agentId, person)
    learn([
      ...fromDirectory,
      ...pins.map(
        ({ id, value }): Person => ({ agentId: id, pubkey: value.pubkey, name: value.name, source: 'pinned' }),
      ),
    ])
  }

  function learn(people: readonly Person[]): void {
    const next = new Map(known.value)
    for (const person of people) {
      client.trust(person.pubkey)
      next.set(person.agentId, merge(next.get(person.agentId), person))
    }
    next.set(key.agentId, { agentId: key.agentId, pubkey: key.pubkey, name: name.value, source: 'self' })
    known.value = next
  }

  /** Stores the keys of people whom the owner has looked up. The keys of others come from the directory again. */
  async function remember(person: Person): Promise<Person> {
    learn([person])
    asked.set(person.agentId, { ...person, source: 'directory' })
    await store.preferences.put(RECORD, [...asked.values()].slice(-MAX_ASKED))
    return known.value.get(person.agentId) ?? person
  }

  async function readDirectory(): Promise<void> {
    let pages = 0
    for await (const { items } of client.agents({ pageSize: PAGE_SIZE, signal: ended }).pages()) {
      learn(items.map(fromDirectory))
      pages += 1
      if (pages === DIRECTORY_PAGES) return
    }
  }

  return {
    known,
    load,
    async lookUp(wanted) {
      const agent = await client.lookup(wanted, { signal: ended })
      return remember(fromDirectory(agent))
    },
    async pin(pubkey, wanted) {
      const agentId = client.trust(pubkey)
      const named = wanted ?? known.value.get(agentId)?.name
      learn([{ agentId, pubkey, name: named, source: 'pinned' }])
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
    async seek(agentId) {
      if (known.value.has(agentId) || Date.now() - soughtMs < SEEK_AGAIN_MS) return
      soughtMs = Date.now()
      await readDirectory()
    },
  }
}

function fromDirectory({ agent_id, name, pubkey }: Agent): Person {
  return { agentId: agent_id, name, pubkey, source: 'directory' }
}

/** A pin stays when the directory names the same key again, and gets the name from it. */
function merge(before: Person | undefined, person: Person): Person {
  if (before?.source !== 'pinned' || person.source === 'pinned') return person
  return { ...before, name: person.name ?? before.name }
}
