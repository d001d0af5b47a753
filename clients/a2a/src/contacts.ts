import type { AgentClient } from '@svc/sdk/client.ts'
import { isCode } from '@svc/sdk/errors.ts'
import { isPassing } from '@svc/sdk/process/waits.ts'

export interface Contact {
  readonly agentId: string
  readonly name: string
}

const NAME = /^[A-Za-z0-9_-]{1,100}$/
/** The service is asked again after this time. */
const CHECKED_MS = 30_000

/** The accepted contacts. */
export class Contacts {
  readonly #client: AgentClient
  readonly #isKnown: (agentId: string) => boolean
  readonly #signal: AbortSignal
  /** When the service last said that they are accepted. Nothing else is kept, so that a new contact is served at once. */
  readonly #acceptedMs = new Map<string, number>()

  /** @param isKnown whether there are tasks with this contact, so it is served without a network too. */
  constructor(client: AgentClient, isKnown: (agentId: string) => boolean, signal: AbortSignal) {
    this.#client = client
    this.#isKnown = isKnown
    this.#signal = signal
  }

  /** @returns undefined if there is no contact of this name. @throws if the service does not answer, and the contact is new. */
  async find(wanted: string): Promise<Contact | undefined> {
    if (!NAME.test(wanted)) return undefined
    try {
      const { agentId, name } = await this.#client.resolve(wanted, { signal: this.#signal })
      return (await this.#isServed(agentId)) ? { agentId, name } : undefined
    } catch (error) {
      if (isCode(error, 'recipient_unavailable') || isCode(error, 'not_found')) return undefined
      throw error
    }
  }

  async has(agentId: string): Promise<boolean> {
    if ((this.#acceptedMs.get(agentId) ?? 0) > Date.now() - CHECKED_MS) return true
    const isAccepted = (await this.#client.contactState(agentId, { signal: this.#signal })) === 'accepted'
    if (isAccepted) this.#acceptedMs.set(agentId, Date.now())
    return isAccepted
  }

  async #isServed(agentId: string): Promise<boolean> {
    try {
      return await this.has(agentId)
    } catch (error) {
      if (!isPassing(error) || !this.#isKnown(agentId)) throw error
      this.#acceptedMs.set(agentId, Date.now())
      return true
    }
  }
}
