import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError, NetworkError } from '@svc/sdk/errors.ts'
import { DEFAULT_RETRY, delayBeforeRetry } from '@svc/sdk/http/retry.ts'
import { signRequest } from '@svc/svc1/sign.ts'
import type { Agent } from '../../support/client/agent.ts'
import type { Body, Call } from '../history/calls.ts'
import type { History } from '../history/history.ts'
import type { Random } from './random.ts'
import { bodyOf, requestOf } from './requests.ts'

export interface Outcome {
  /** Null if there was no answer. */
  readonly status: number | null
  readonly body: Body
}

export interface Client {
  readonly agent: Agent
  /** Sends one request and records it. @param text the body, if the call does not contain it. */
  attempt(call: Call, options?: { text?: string; op?: number; via?: number }): Promise<Outcome>
  /**
   * Calls with retries as in spec 13.2: the same request, signed anew, until the answer is not 503 or the client gives up.
   * @returns the last answer.
   */
  ask(call: Call, options?: { text?: string; attempts?: number }): Promise<Outcome & { readonly attempts: number }>
}

interface ClientOptions {
  readonly agent: Agent
  /** Gateways. */
  readonly urls: readonly string[]
  readonly history: History
  readonly random: Random
}

/** Timeout of a request to a gateway that hangs. An answer takes at most 5 s (spec 3.17). */
const TIMEOUT_MS = 8_000
const RETRY = { ...DEFAULT_RETRY, baseDelayMs: 100, maxDelayMs: 2_000 }

export function createClient({ agent, urls, history, random }: ClientOptions): Client {
  let turn = random.int(0, urls.length - 1)
  const client: Client = {
    agent,
    async attempt(call, { text, op = history.next(), via } = {}) {
      turn += 1
      const at = via ?? turn % urls.length
      const n = history.next()
      history.add({ type: 'call', n, op, actor: agent.id, via: at, atMs: Date.now(), call })
      const outcome = await request(agent, urls[at] ?? '', call, text)
      history.add({ type: 'answer', n, atMs: Date.now(), ...outcome })
      return outcome
    },
    async ask(call, { text, attempts = RETRY.attempts } = {}) {
      const op = history.next()
      for (let made = 1; ; made += 1) {
        const outcome = await client.attempt(call, { op, ...(text === undefined ? {} : { text }) })
        const draw = () => random.int(0, 1_000) / 1_001
        const delayMs = delayBeforeRetry(failureOf(outcome), made, { ...RETRY, attempts }, draw)
        if (delayMs === undefined) return { ...outcome, attempts: made }
        await sleep(delayMs)
      }
    },
  }
  return client
}

/** The kind of failure that the SDK bases its retries on. Undefined means no failure and no retry. */
function failureOf({ status, body }: Outcome): ApiError | NetworkError | undefined {
  if (status === null) return new NetworkError('no answer')
  if (status < 400) return undefined
  const code = body.code ?? ''
  // a nonce that is refused at the first attempt is a violation, which a retry would hide
  return code === 'nonce_replayed' ? undefined : new ApiError({ status, code, message: code })
}

async function request(agent: Agent, url: string, call: Call, text: string | undefined): Promise<Outcome> {
  const { method, target, body } = requestOf(agent, call)
  const sent = text ?? (body === undefined ? undefined : JSON.stringify(body))
  const { authority } = agent.place
  const signed = signRequest(agent.key, {
    authority,
    method,
    target,
    body: sent === undefined ? undefined : Buffer.from(sent),
  })
  const headers = { ...signed, ...(sent === undefined ? {} : { 'content-type': 'application/json' }) }
  return answerOf(call, () =>
    fetch(url + target, {
      method,
      headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(sent === undefined ? {} : { body: sent }),
    }),
  )
}

async function answerOf(call: Call, ask: () => Promise<Response>): Promise<Outcome> {
  try {
    const response = await ask()
    const json: unknown = JSON.parse(await response.text())
    return { status: response.status, body: bodyOf(call, response.status, json) }
  } catch (error) {
    // `fetch` throws a TypeError if nothing listens or the connection ends, and a DOMException after a timeout. JSON.parse
    // throws if the answer is cut off. described-answers.ts records the answers that differ from the description.
    return { status: null, body: { code: error instanceof Error ? error.name : String(error) } }
  }
}
