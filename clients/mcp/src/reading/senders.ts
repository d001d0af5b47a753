import type { Agent } from '@svc/contracts/resources.ts'
import { isSameAuthority, parseAddress, parseSender } from '@svc/envelope/address.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { ApiError, VerificationError } from '@svc/sdk/errors.ts'
import type * as sdk from '@svc/sdk/messages/people.ts'
import { isAgentId } from '@svc/svc1/agent-id.ts'
import { ToolError } from '../output/tool-error.ts'
import type { Marks } from '../store/marks.ts'

/** An agent whose key is pinned. */
export interface KnownAgent extends sdk.KnownAgent {
  /**
   * `own`: this agent. `pinned`: the key that is stored here since an earlier use of the name, or that the person configured.
   * `first_answer`: the key that the service gave first for a name that nobody here had used.
   */
  readonly source: 'own' | 'pinned' | 'first_answer'
  /** Whether this agent or its person has used the name. Otherwise the name is new to the model. */
  readonly isUsed: boolean
}

/** This agent. */
export interface Own {
  readonly agentId: string
  readonly pubkey: string
  /** Empty until the service has confirmed the registration. */
  readonly name: string
  readonly authority: string
}

/** Finds agents by name, address or id. The keys are pinned by the SDK, so the service cannot change them later. */
export interface Senders {
  /** Whether a `from` names this agent, by its id or by its address. */
  isOwn(from: string): boolean
  /**
   * The agent that a `from` names. Undefined if it has no key here: an id that neither the pins nor the directory have, an
   * address of another service, or a name that nobody has.
   * @throws VerificationError `key_changed`.
   */
  ofSender(from: string, signal: AbortSignal): Promise<KnownAgent | undefined>
  /**
   * The agent with a name or an address that the model has written. Call `use` when the call succeeds.
   * @throws ToolError `unknown_agent`, `recipient_not_local`.
   */
  ofName(who: string, signal: AbortSignal): Promise<KnownAgent>
  /**
   * Asks the service for a name or an address, even if its key is pinned.
   * @throws VerificationError `key_changed`. @throws ToolError like `ofName`.
   */
  check(who: string, signal: AbortSignal): Promise<{ agent: Agent; known: KnownAgent }>
  /** From now on the name counts as used. A no-op for an agent that is not known by a name that the model has written. */
  use(agent: Partial<KnownAgent>): void
}

/** The most pages of the directory that are read to find a sender: 1,000 agents. */
const MAX_PAGES = 10
const PAGE_SIZE = 100
/** After a search without success, the directory is not read again for this long. */
const UNKNOWN_FOR_MS = 60_000
const MAX_CACHED = 10_000

export function createSenders(client: AgentClient, used: Marks, own: Own): Senders {
  const directory = new Map<string, Agent>()
  let readAtMs = 0

  function known(agent: sdk.KnownAgent): KnownAgent {
    if (agent.agentId === own.agentId) return { ...agent, source: 'own', isUsed: true }
    const isUsed = used.has(agent.name)
    return { ...agent, source: isUsed ? 'pinned' : 'first_answer', isUsed }
  }

  async function find(who: string, signal: AbortSignal): Promise<KnownAgent | undefined> {
    try {
      return known(await client.resolve(who, { signal }))
    } catch (error) {
      const isUnknown = isNotFound(error) || (error instanceof VerificationError && error.reason === 'unknown_sender')
      if (isUnknown) return undefined
      throw error
    }
  }

  async function findInDirectory(agentId: string, signal: AbortSignal): Promise<KnownAgent | undefined> {
    if (!directory.has(agentId)) await readDirectory(agentId, signal)
    const { name, pubkey } = directory.get(agentId) ?? {}
    if (name === undefined || pubkey === undefined) return undefined
    try {
      // An entry whose id is not that of its key proves nothing. A pinned name stays with the key that is pinned.
      return client.trust(pubkey) === agentId ? known(await client.pin(name, pubkey)) : undefined
    } catch (error) {
      if (error instanceof TypeError || error instanceof VerificationError) return undefined
      throw error
    }
  }

  async function readDirectory(agentId: string, signal: AbortSignal): Promise<void> {
    if (Date.now() - readAtMs < UNKNOWN_FOR_MS) return
    let pages = 0
    for await (const { items } of client.agents({ pageSize: PAGE_SIZE, signal }).pages()) {
      for (const agent of items) if (directory.size < MAX_CACHED) directory.set(agent.agent_id, agent)
      pages += 1
      if (directory.has(agentId) || pages === MAX_PAGES) break
    }
    if (!directory.has(agentId)) readAtMs = Date.now()
  }

  /** The name in a name or an address of this service. */
  function nameIn(who: string): string {
    const address = parseAddress(who)
    if (address?.kind !== 'agent') return who
    if (isSameAuthority(address.authority, own.authority)) return address.name
    throw new ToolError(
      'recipient_not_local',
      'the address is of another service. whoami shows your own address: all agents here have the same ending.',
    )
  }

  async function named<T>(who: string, ask: (name: string) => Promise<T>): Promise<T> {
    const name = nameIn(who)
    try {
      return await ask(name)
    } catch (error) {
      if (!isNotFound(error)) throw error
      throw new ToolError('unknown_agent', `no agent has the name ${name}; find_agent shows similar names`)
    }
  }

  const senders: Senders = {
    isOwn(from) {
      const sender = parseSender(from)
      if (sender?.kind !== 'agent') return sender?.id === own.agentId
      return sender.name === own.name && isSameAuthority(sender.authority, own.authority)
    },
    async ofSender(from, signal) {
      const { agentId, name, pubkey } = own
      if (senders.isOwn(from)) return { agentId, name, pubkey, source: 'own', isUsed: true }
      if (parseSender(from) === undefined) return undefined
      const found = await find(from, signal)
      return found === undefined && isAgentId(from) ? findInDirectory(from, signal) : found
    },
    async ofName(who, signal) {
      return { ...known(await named(who, (name) => client.resolve(name, { signal }))), isUsed: true }
    },
    async check(who, signal) {
      const agent = await named(who, (name) => client.lookup(name, { signal }))
      const { agent_id: agentId, name, pubkey } = agent
      return { agent, known: { ...known({ agentId, name, pubkey }), isUsed: true } }
    },
    use({ name, source, isUsed }) {
      if (name !== undefined && source !== 'own' && isUsed) used.add(name)
    },
  }
  return senders
}

function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'not_found'
}
