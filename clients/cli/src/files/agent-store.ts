/** What svc keeps for an agent between commands: keys of names, contacts that it accepted itself, messages without an answer. */
import { join } from 'node:path'
import { createFileStore } from '@svc/sdk/store/file-store.ts'
import type { Store } from '@svc/sdk/store/store.ts'
import type { Io } from '../io.ts'
import { stateFolder } from './places.ts'

interface Owner {
  readonly agentId: string
  readonly authority: string
}

/** A folder for one agent of one service. The authority comes from the service, so it must not name another folder. */
export function folderOfAgent(env: Io['env'], use: 'agents' | 'listen', { agentId, authority }: Owner): string {
  return join(stateFolder(env), use, `${agentId}@${authority.replace(/[^A-Za-z0-9.~[\]-]/g, '_')}`)
}

/** A store that finds its folder when it is first used. Commands that run at the same time share the folder. */
export function createAgentStore(findFolder: () => Promise<string>): Store {
  const open = async (): Promise<Store> => createFileStore(await findFolder(), { shared: true })
  return {
    get: async (key) => (await open()).get(key),
    set: async (key, value) => (await open()).set(key, value),
    delete: async (key) => (await open()).delete(key),
    keys: async (prefix) => (await open()).keys(prefix),
  }
}
