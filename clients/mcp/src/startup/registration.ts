import { isAgentName } from '@svc/contracts/ids.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { AnswerError, ApiError, StoreError } from '@svc/sdk/errors.ts'
import { sleep, untilAborted } from '@svc/sdk/http/waiting.ts'
import { StartError } from '../errors.ts'
import { ToolError } from '../output/tool-error.ts'

interface Found {
  readonly name: string
  /** Whether the key was registered just now. */
  readonly isNew: boolean
}

/** The start waits this long for the service. Some clients wait at most 15 s for the first answer of the server. */
const START_MS = 3_000
/** The timeout of one attempt. Clients wait about a minute for a tool call. */
const ATTEMPT_MS = 20_000

interface RegistrationOptions {
  /** The name for the key if it is not registered. */
  readonly wanted: string | undefined
  /** Runs once, before the first call. */
  readonly onFirst: (found: Found, signal: AbortSignal) => Promise<void>
}

/**
 * The registration of the key. The service may be down when the server starts, so the server retries until it gets an
 * answer.
 */
export class Registration {
  readonly #client: AgentClient
  readonly #options: RegistrationOptions
  #name: string | undefined
  #attempt: Promise<void> | undefined

  /** @param client a client with the key. */
  constructor(client: AgentClient, options: RegistrationOptions) {
    this.#client = client
    this.#options = options
  }

  /** Undefined until the service has answered. */
  get name(): string | undefined {
    return this.#name
  }

  /**
   * Resolves when the key is registered.
   * @throws ToolError `unavailable` if the service does not answer.
   * @throws StartError, ApiError if the person who configured the server must change something.
   */
  async ready(signal: AbortSignal): Promise<void> {
    if (this.#name === undefined) await untilAborted(this.#attemptOnce(), signal)
  }

  /** @returns whether the key was registered in time. If not, the attempt continues. @throws StartError, ApiError like `ready`. */
  async begin(): Promise<boolean> {
    const first = this.#attemptOnce().catch((error: unknown) => {
      if (isForThePerson(error)) throw error
    })
    const answered = new AbortController()
    const late = sleep(START_MS, answered.signal).catch(() => undefined)
    await Promise.race([first, late]).finally(() => answered.abort())
    // A later failure of this attempt is reported by the next call of a tool.
    first.catch(() => undefined)
    return this.#name !== undefined
  }

  /** Single-flight: all callers wait for one attempt. */
  #attemptOnce(): Promise<void> {
    this.#attempt ??= this.#register().finally(() => {
      this.#attempt = undefined
    })
    return this.#attempt
  }

  async #register(): Promise<void> {
    const signal = AbortSignal.timeout(ATTEMPT_MS)
    try {
      const found = await findOrRegister(this.#client, this.#options.wanted, signal)
      await this.#options.onFirst(found, signal)
      this.#name = found.name
    } catch (error) {
      if (isForThePerson(error) || error instanceof AnswerError) throw error
      throw new ToolError(
        'unavailable',
        'the service does not answer, so this mailbox cannot be used now. Nothing was done. Call again later: the mailbox works as soon as the service is back.',
      )
    }
  }
}

/** @throws StartError if the key has no name, or another name than `wanted`. */
async function findOrRegister(client: AgentClient, wanted: string | undefined, signal: AbortSignal): Promise<Found> {
  try {
    const { agent } = await client.me({ signal })
    if (!isAgentName(agent.name) || agent.agent_id !== client.key?.agentId) {
      throw new AnswerError('the answer is not about this agent')
    }
    if (wanted !== undefined && agent.name !== wanted) {
      throw new StartError(
        `the key is registered as ${agent.name}, not as ${wanted}: change --register, or use another --key`,
      )
    }
    return { name: agent.name, isNew: false }
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'signer_unknown') throw error
    if (wanted === undefined) throw new StartError('the key is not registered: add --register <name>')
    await client.register(wanted, { signal })
    return { name: wanted, isNew: true }
  }
}

/** Whether only a person can fix the error, so that a retry does not help. */
function isForThePerson(error: unknown): boolean {
  if (error instanceof StartError || error instanceof StoreError) return true
  return error instanceof ApiError && error.status < 500 && error.status !== 429
}
