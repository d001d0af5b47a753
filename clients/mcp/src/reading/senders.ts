import type { Agent } from '@svc/contracts/resources.ts'
import { isSameAuthority, parseAddress, parseSender } from '@svc/envelope/address.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { isCode, VerificationError } from '@svc/sdk/errors.ts'
import { Directory } from '@svc/sdk/messages/directory.ts'
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
export class Senders {
  readonly #client: AgentClient
  readonly #directory: Directory
  readonly #used: Pick<Marks, 'has' | 'add'>
  readonly #own: Own

  constructor(client: AgentClient, used: Pick<Marks, 'has' | 'add'>, own: Own) {
    this.#client = client
    this.#directory = new Directory(client)
    this.#used = used
    this.#own = own
  }

  /** Whether a `from` names this agent, by its id or by its address. */
  isOwn(from: string): boolean {
    const { agentId, name, authority } = this.#own
    const sender = parseSender(from)
    if (sender?.kind !== 'agent') return sender?.id === agentId
    return sender.name === name && isSameAuthority(sender.authority, authority)
  }

  /**
   * The agent that a `from` names. Undefined if it has no key here: an id that neither the pins nor the directory have, an
   * address of another service, or a name that nobody has.
   * @throws VerificationError `key_changed`.
   */
  async ofSender(from: string, signal: AbortSignal): Promise<KnownAgent | undefined> {
    if (this.isOwn(from)) return this.#described(this.#own)
    if (parseSender(from) === undefined) return undefined
    try {
      return this.#described(await this.#client.resolve(from, { signal }))
    } catch (error) {
      const isUnknown = error instanceof VerificationError && error.reason === 'unknown_sender'
      if (!isUnknown && !isCode(error, 'not_found')) throw error
      return isAgentId(from) ? this.#findListed(from, signal) : undefined
    }
  }

  /**
   * The agent with a name or an address that the model has written. Call `use` when the call succeeds.
   * @throws ToolError `unknown_agent`, `recipient_not_local`.
   */
  async ofName(who: string, signal: AbortSignal): Promise<KnownAgent> {
    const agent = await this.#named(who, (name) => this.#client.resolve(name, { signal }))
    return { ...this.#described(agent), isUsed: true }
  }

  /**
   * Asks the service for a name or an address, even if its key is pinned.
   * @throws VerificationError `key_changed`. @throws ToolError like `ofName`.
   */
  async check(who: string, signal: AbortSignal): Promise<{ agent: Agent; known: KnownAgent }> {
    const agent = await this.#named(who, (name) => this.#client.lookup(name, { signal }))
    const { agent_id: agentId, name, pubkey } = agent
    return { agent, known: { ...this.#described({ agentId, name, pubkey }), isUsed: true } }
  }

  /** From now on the name counts as used. A no-op for an agent that is not known by a name that the model has written. */
  use({ name, source, isUsed }: Partial<KnownAgent>): void {
    if (name !== undefined && source !== 'own' && isUsed) this.#used.add(name)
  }

  #described({ agentId, name, pubkey }: sdk.KnownAgent): KnownAgent {
    const isOwn = agentId === this.#own.agentId
    const isUsed = isOwn || this.#used.has(name)
    return { agentId, name, pubkey, source: isOwn ? 'own' : isUsed ? 'pinned' : 'first_answer', isUsed }
  }

  async #findListed(agentId: string, signal: AbortSignal): Promise<KnownAgent | undefined> {
    try {
      const found = await this.#directory.find(agentId, signal)
      return found && this.#described(found)
    } catch (error) {
      // A pinned name stays with the key that is pinned.
      if (error instanceof VerificationError) return undefined
      throw error
    }
  }

  async #named<T>(who: string, ask: (name: string) => Promise<T>): Promise<T> {
    const name = this.#nameIn(who)
    try {
      return await ask(name)
    } catch (error) {
      if (!isCode(error, 'not_found')) throw error
      throw new ToolError('unknown_agent', `no agent has the name ${name}; find_agent shows similar names`)
    }
  }

  /** The name in a name or an address of this service. */
  #nameIn(who: string): string {
    const address = parseAddress(who)
    if (address?.kind !== 'agent') return who
    if (isSameAuthority(address.authority, this.#own.authority)) return address.name
    throw new ToolError(
      'recipient_not_local',
      'the address is of another service. whoami shows your own address: all agents here have the same ending.',
    )
  }
}
