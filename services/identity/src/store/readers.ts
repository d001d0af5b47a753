import { type Batcher, createBatcher } from '@svc/batching/batcher.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Database } from '@svc/postgres/database.ts'
import type { AgentRecord } from '../domain/agent.ts'
import { findAgents, findAgentsByName } from './agents.ts'

/** Read single agents. Concurrent reads share a query. */
export interface AgentReaders {
  readonly byId: Batcher<string, AgentRecord | undefined>
  readonly byName: Batcher<string, AgentRecord | undefined>
}

export function createAgentReaders(database: Database): AgentReaders {
  const overloaded = (): Error =>
    new ServiceError('unavailable', { cause: new Error('too many agents are waiting to be read') })
  return {
    byId: createBatcher({
      name: 'identity.by-id',
      concurrency: 2,
      overloaded,
      run: async (ids) => {
        const records = await database.run((sql) => findAgents(sql, [...new Set(ids)]))
        const found = new Map(records.map((record) => [record.agent_id, record]))
        return ids.map((id) => found.get(id))
      },
    }),
    byName: createBatcher({
      name: 'identity.by-name',
      concurrency: 2,
      overloaded,
      run: async (names) => {
        const records = await database.run((sql) => findAgentsByName(sql, [...new Set(names)]))
        const found = new Map(records.map((record) => [record.name, record]))
        return names.map((name) => found.get(name))
      },
    }),
  }
}
