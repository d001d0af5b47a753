/** The context of an agent for tests: records in memory, and a service that has only a directory. */
import { signal } from '@preact/signals'
import type { Agent } from '@svc/contracts/resources.ts'
import { AgentClient } from '@svc/sdk/client.ts'
import type { AgentKey } from '@svc/sdk/keys.ts'
import { createMemoryStore, type Store } from '@svc/sdk/store/store.ts'
import type { AgentStore } from '../../vault/agent-store.ts'
import type { AgentContext } from './context.ts'

export const AUTHORITY = 'messages.example'

export interface FakeDirectory {
  /** What the service answers for each name. */
  readonly keys: Map<string, AgentKey>
  /** Names that the list of the directory has. */
  readonly listed: Set<string>
  /** Paths in the order in which they were asked for. */
  readonly asked: string[]
}

export function createFakeDirectory(agents: Readonly<Record<string, AgentKey>>): FakeDirectory {
  return { keys: new Map(Object.entries(agents)), listed: new Set(), asked: [] }
}

interface Kept {
  readonly client: Store
  readonly pins: AgentStore['pins']
}

/** What outlives a reload of the page. */
export function createKept(): Kept {
  return { client: createMemoryStore(), pins: createRecords() }
}

export function createFakeContext(
  own: { readonly name: string; readonly key: AgentKey },
  directory: FakeDirectory,
  kept = createKept(),
): AgentContext {
  const client = new AgentClient({
    url: 'http://service.test',
    key: own.key,
    authority: AUTHORITY,
    name: own.name,
    store: kept.client,
    fetch: async (target) => answer(directory, new URL(String(target))),
  })
  return {
    client,
    key: own.key,
    store: kept as unknown as AgentStore,
    name: signal(own.name),
    authority: signal(AUTHORITY),
    ended: new AbortController().signal,
  }
}

function answer({ keys, listed, asked }: FakeDirectory, { pathname }: URL): Response {
  asked.push(pathname)
  const agentOf = (name: string, { agentId, pubkey }: AgentKey): Partial<Agent> => ({
    agent_id: agentId,
    name,
    pubkey,
    revoked: false,
    created_at: 0,
  })
  if (pathname === '/v2/agents') {
    const agents = [...keys].filter(([name]) => listed.has(name)).map(([name, key]) => agentOf(name, key))
    return Response.json({ agents, next_cursor: '' })
  }
  const name = pathname.split('/').at(-1) ?? ''
  const key = keys.get(name)
  if (key !== undefined) return Response.json(agentOf(name, key))
  return Response.json({ error: { code: 'not_found', message: 'there is no such agent' } }, { status: 404 })
}

function createRecords<Value>(): {
  get(id: string): Promise<Value | undefined>
  put(id: string, value: Value): Promise<void>
  delete(id: string): Promise<void>
  list(): Promise<{ id: string; value: Value }[]>
} {
  const values = new Map<string, Value>()
  return {
    get: async (id) => values.get(id),
    async put(id, value) {
      values.set(id, value)
    },
    async delete(id) {
      values.delete(id)
    },
    list: async () => [...values].map(([id, value]) => ({ id, value })),
  }
}
