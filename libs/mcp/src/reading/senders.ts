import { isAgentName } from '@svc/contracts/ids.ts'
import type { Agent } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { ApiError } from '@svc/sdk/errors.ts'
import { ToolError } from '../output/tool-error.ts'
import type { Pins } from '../store/pins.ts'
import { isFitting, PublicKey } from '../tools/schemas.ts'

/** An agent, and the source of its key. */
export interface KnownAgent {
  readonly agentId: string
  readonly name: string
  /** `ed25519:<HEX>`. */
  readonly pubkey: string
  /** `own`: this agent. `pinned`: stored here since first use. `directory`: the directory's current answer. */
  readonly source: 'own' | 'pinned' | 'directory'
}

/** Finds agents by id or name. Pinned keys take precedence, so the service cannot change them later. */
export interface Senders {
  /** The agent with an id, as a message names its sender. Undefined if neither the pins nor the directory have it. */
  ofAgent(agentId: string, signal: AbortSignal): Promise<KnownAgent | undefined>
  /**
   * The agent with a name. Pins its key if the name is new.
   * @throws ToolError `unknown_agent`, `invalid_name`.
   */
  ofName(name: string, signal: AbortSignal): Promise<KnownAgent>
  /**
   * Asks the directory for a name, even if its key is pinned.
   * @throws ToolError `key_changed` if the directory contradicts the pin; `unknown_agent`, `invalid_name`.
   */
  check(name: string, signal: AbortSignal): Promise<{ agent: Agent; known: KnownAgent }>
}

/** The most pages of the directory that are read to find a sender: 1,000 agents. */
const MAX_PAGES = 10
const PAGE_SIZE = 100
/** After a search without success, the directory is not read again for this long. */
const UNKNOWN_FOR_MS = 60_000
const MAX_CACHED = 10_000

export function createSenders(
  client: AgentClient,
  pins: Pins,
  own: { name: () => string; agentId: string; pubkey: string },
): Senders {
  const directory = new Map<string, KnownAgent>()
  let readAtMs = 0

  function known(agentId: string): KnownAgent | undefined {
    if (agentId === own.agentId) return { ...own, name: own.name(), source: 'own' }
    const pin = pins.ofAgent(agentId)
    if (pin !== undefined) return { ...pin, source: 'pinned' }
    const listed = directory.get(agentId)
    // A pinned name belongs to the pinned key, even if the directory gives it to another agent.
    const isTaken = listed?.name === own.name() || (listed !== undefined && pins.ofName(listed.name) !== undefined)
    return isTaken ? undefined : listed
  }

  async function readDirectory(agentId: string, signal: AbortSignal): Promise<void> {
    if (Date.now() - readAtMs < UNKNOWN_FOR_MS) return
    let pages = 0
    for await (const { items } of client.agents({ pageSize: PAGE_SIZE, signal }).pages()) {
      for (const agent of items) remember(agent)
      pages += 1
      if (directory.has(agentId) || pages === MAX_PAGES) break
    }
    if (!directory.has(agentId)) readAtMs = Date.now()
  }

  /** Ignores an entry whose id is not the hash of its key, or whose name is invalid, because such an entry proves nothing. */
  function remember(agent: Agent): void {
    if (directory.size >= MAX_CACHED || !isAgentName(agent.name) || !isOwnKey(agent)) return
    const { agent_id: agentId, name, pubkey } = agent
    directory.set(agentId, { agentId, name, pubkey, source: 'directory' })
  }

  function isOwnKey({ agent_id: agentId, pubkey }: Agent): boolean {
    try {
      return isFitting(PublicKey, pubkey) && client.trust(pubkey) === agentId
    } catch {
      return false
    }
  }

  async function lookUp(name: string, signal: AbortSignal): Promise<Agent> {
    if (!isAgentName(name)) throw new ToolError('invalid_name', `${quotedName(name)} is not a valid name of an agent`)
    try {
      return await client.lookup(name, { signal })
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'not_found') throw error
      throw new ToolError('unknown_agent', `no agent has the name ${name}; find_agent shows similar names`)
    }
  }

  const senders: Senders = {
    async ofAgent(agentId, signal) {
      if (known(agentId) === undefined) await readDirectory(agentId, signal)
      return known(agentId)
    },
    async ofName(name, signal) {
      const pin = isAgentName(name) ? pins.ofName(name) : undefined
      if (pin !== undefined) return { ...pin, source: 'pinned' }
      return (await senders.check(name, signal)).known
    },
    async check(name, signal) {
      const agent = await lookUp(name, signal)
      const { agent_id: agentId, pubkey } = agent
      if (agentId === own.agentId) return { agent, known: { agentId, name, pubkey, source: 'own' } }
      const pin = pins.add({ name, agentId, pubkey, by: 'first use' })
      if (pin.pubkey !== pubkey) {
        throw new ToolError(
          'key_changed',
          `the service now gives another key for ${name} than the key that is pinned here. A name never changes its key, so do not trust the service or the connection to it. Tell the person you work for.`,
        )
      }
      return { agent, known: { ...pin, source: 'pinned' } }
    },
  }
  return senders
}

function quotedName(name: string): string {
  return JSON.stringify(name.slice(0, 40))
}
