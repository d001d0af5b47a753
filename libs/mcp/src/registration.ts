import { isAgentName } from '@svc/contracts/ids.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { AnswerError, ApiError } from '@svc/sdk/errors.ts'
import { sleep, untilAborted } from '@svc/sdk/waiting.ts'
import { StartError } from './start-error.ts'
import { ToolError } from './tool-error.ts'

/** Who the key is at the service. The service may be away when the server starts, so it is asked until it has answered once. */
interface Registration {
  /** Undefined while the service has not said it. */
  readonly name: string | undefined
  /**
   * Resolves when the key is registered.
   * @throws ToolError `unavailable`; StartError and ApiError for what the person who configured the server has to change.
   */
  ready(signal: AbortSignal): Promise<void>
}

/** A client that starts the server waits for its first answer, some for no longer than 15 s. */
const START_MS = 3_000
/** For a call of a tool, which clients wait a minute for. */
const ATTEMPT_MS = 20_000

/**
 * @param client whose key it is. @param wanted name to register the key under, where it has none.
 * @param onFirst runs once, before the first call.
 */
export function createRegistration(
  client: AgentClient,
  { wanted, onFirst }: { wanted: string | undefined; onFirst: (isNew: boolean, signal: AbortSignal) => Promise<void> },
): Registration & { begin(): Promise<boolean> } {
  let name: string | undefined
  let isReady = false
  let attempt: Promise<void> | undefined

  async function register(): Promise<void> {
    const signal = AbortSignal.timeout(ATTEMPT_MS)
    try {
      const found = await findOrRegister(client, wanted, signal)
      await onFirst(found.isNew, signal)
      name = found.name
      isReady = true
    } catch (error) {
      if (isForThePerson(error) || error instanceof AnswerError) throw error
      throw new ToolError(
        'unavailable',
        'the service does not answer, so this mailbox cannot be used now. Nothing was done. Call again later: it works as soon as the service is back.',
      )
    }
  }

  /** One attempt at a time, whoever waits for it. */
  function attemptOnce(): Promise<void> {
    attempt ??= register().finally(() => {
      attempt = undefined
    })
    return attempt
  }

  return {
    get name() {
      return name
    },
    async ready(signal) {
      if (isReady) return
      await untilAborted(attemptOnce(), signal)
    },
    /** @returns whether it was registered in time. @throws StartError, ApiError as `ready`; goes on by itself otherwise. */
    async begin() {
      const first = attemptOnce().catch((error: unknown) => {
        if (isForThePerson(error)) throw error
      })
      const answered = new AbortController()
      const late = sleep(START_MS, answered.signal).catch(() => undefined)
      await Promise.race([first, late]).finally(() => answered.abort())
      // What comes of it later is told to whoever calls.
      first.catch(() => undefined)
      return isReady
    },
  }
}

/** @throws StartError where the key has no name, or another one than it should have. */
async function findOrRegister(
  client: AgentClient,
  wanted: string | undefined,
  signal: AbortSignal,
): Promise<{ name: string; isNew: boolean }> {
  try {
    const { agent } = await client.me({ signal })
    if (!isAgentName(agent.name) || agent.agent_id !== client.key?.agentId) {
      throw new AnswerError('the answer is not about this agent')
    }
    if (wanted !== undefined && agent.name !== wanted) {
      throw new StartError(
        `the key is registered as ${agent.name}, not as ${wanted}: change --register, or name another --key`,
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

/** No waiting changes it. */
function isForThePerson(error: unknown): boolean {
  if (error instanceof StartError) return true
  return error instanceof ApiError && error.status < 500 && error.status !== 429
}
