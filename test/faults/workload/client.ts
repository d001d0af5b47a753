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
  /** Null: no answer. */
  readonly status: number | null
  readonly body: Body
}

export interface Client {
  readonly agent: Agent
  /** One request, recorded. @param text of the body, where the call does not say it. */
  attempt(call: Call, options?: { text?: string; op?: number; via?: number }): Promise<Outcome>
  /**
   * A call as spec 13.2 has it: signed anew and otherwise the same, until it is told something
   * else than 503, or gives up. @returns the last answer.
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

/** A gateway that hangs is given up; an answer takes 5 s at most (spec 3.17). */
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

/** What the SDK decides by. Undefined is no failure, and is not repeated. */
function failureOf({ status, body }: Outcome): ApiError | NetworkError | undefined {
  if (status === null) return new NetworkError('no answer')
  if (status < 400) return undefined
  const code = body.code ?? ''
  // A nonce that is refused at once is a finding, and not to be hidden by a repetition.
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
    // `fetch` throws a TypeError where nobody listens or the connection ends, a DOMException where it took too long,
    // and JSON.parse where it ended within the answer. What is not as described is kept by its watch
    // (described-answers.ts).
    return { status: null, body: { code: error instanceof Error ? error.name : String(error) } }
  }
}
