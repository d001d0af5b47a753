import type { Agent } from '@svc/contracts/resources.ts'
import type { AgentClient } from '../client.ts'
import { untilAborted } from '../http/waiting.ts'
import type { KnownAgent } from './people.ts'

const MAX_PAGES = 10
const PAGE_SIZE = 100
const READ_AGAIN_MS = 30_000

/**
 * Finds agents by their id in the public directory, because the API finds them only by name. Reads the first 1,000 agents, at
 * most every 30 s. What it reads is a claim of the service: a key counts once the client has pinned it.
 */
export class Directory {
  readonly #client: Pick<AgentClient, 'agents' | 'pin' | 'trust'>
  #agents: ReadonlyMap<string, Agent> = new Map()
  #reading: Promise<void> | undefined
  #readMs = Number.NEGATIVE_INFINITY

  constructor(client: Pick<AgentClient, 'agents' | 'pin' | 'trust'>) {
    this.#client = client
  }

  /** The agents that the last reading has found, by id. */
  async read(signal: AbortSignal): Promise<ReadonlyMap<string, Agent>> {
    if (this.#reading === undefined && Date.now() - this.#readMs > READ_AGAIN_MS) {
      // All concurrent callers share the reading, so it takes no caller's signal.
      this.#reading = this.#readPages().finally(() => {
        this.#reading = undefined
      })
    }
    await untilAborted(this.#reading, signal)
    return this.#agents
  }

  /**
   * The agent with an id. Its key is pinned to its name.
   * @returns undefined if the directory does not have it, or its entry is wrong.
   * @throws VerificationError `key_changed` if another key is pinned to the name.
   */
  async find(agentId: string, signal: AbortSignal): Promise<KnownAgent | undefined> {
    const entry = this.#agents.get(agentId) ?? (await this.read(signal)).get(agentId)
    if (entry === undefined) return undefined
    try {
      // An entry whose id is not that of its key proves nothing.
      if (this.#client.trust(entry.pubkey) !== agentId) return undefined
      return await this.#client.pin(entry.name, entry.pubkey)
    } catch (error) {
      if (error instanceof TypeError) return undefined
      throw error
    }
  }

  async #readPages(): Promise<void> {
    const found = new Map<string, Agent>()
    let pages = 0
    for await (const { items } of this.#client.agents({ pageSize: PAGE_SIZE }).pages()) {
      for (const agent of items) found.set(agent.agent_id, agent)
      pages += 1
      if (pages === MAX_PAGES) break
    }
    this.#agents = found
    this.#readMs = Date.now()
  }
}
