import { AgentCard } from '@a2a-js/sdk'
import type { Log } from '@svc/mcp/log.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import type { AgentKey } from '@svc/sdk/keys.ts'
import type { Store } from '@svc/sdk/store/store.ts'
import type { LocalAgent } from './agent.ts'
import { signedCard, verifiedCard } from './card.ts'
import type { Contact } from './contacts.ts'
import type { Json, Wire } from './wire.ts'

interface CardsDeps {
  readonly client: AgentClient
  readonly key: AgentKey
  readonly store: Store
  readonly agent: LocalAgent | undefined
  readonly log: Log
  readonly signal: AbortSignal
  readonly send: (to: string, wire: Wire) => Promise<void>
}

/** The shortest time between two cards to one contact. */
const GIVEN_MS = 24 * 3_600_000

/** The cards of contacts, kept by key, and that of the local agent. */
export class Cards {
  readonly #deps: CardsDeps

  constructor(deps: CardsDeps) {
    this.#deps = deps
  }

  /** @returns undefined if none has come yet. */
  async of({ agentId }: Contact): Promise<AgentCard | undefined> {
    const kept = await this.#deps.store.get(`cards/${agentId}`)
    return kept === undefined ? undefined : AgentCard.fromJSON(JSON.parse(kept))
  }

  /** Keeps the card that a contact has sent, unless it is not signed by it. */
  async take({ agentId, name }: Contact, json: Json): Promise<void> {
    const { client, store, signal, log } = this.#deps
    const { pubkey } = await client.resolve(name, { signal })
    const address = `${name}@${await client.authority({ signal })}`
    try {
      const card = await verifiedCard(json, address, Buffer.from(pubkey.slice('ed25519:'.length), 'hex'))
      await store.set(`cards/${agentId}`, JSON.stringify(AgentCard.toJSON(card)))
    } catch (error) {
      log('card.refused', { from: name, reason: (error as Error).message })
    }
  }

  /** Sends the card of the local agent to a contact that has written, if there is an agent and it answers. */
  async give({ agentId, name }: Contact): Promise<void> {
    const { client, key, agent, store, signal, send, log } = this.#deps
    try {
      const givenMs = Number(await store.get(`given/${agentId}`)) || 0
      if (agent === undefined || givenMs > Date.now() - GIVEN_MS) return
      await store.set(`given/${agentId}`, String(Date.now()))
      const card = await (await agent.connect(signal)).getAgentCard()
      await send(name, { kind: 'card', card: await signedCard(card, await client.address({ signal }), key) })
    } catch (error) {
      log('card.failed', { to: name, reason: (error as Error).message })
    }
  }
}
