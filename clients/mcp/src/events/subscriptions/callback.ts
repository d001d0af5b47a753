import { randomBytes, timingSafeEqual } from 'node:crypto'
import { SERVICE } from '@svc/contracts/limits.ts'
import { AttemptError } from '@svc/outbound/attempt-error.ts'
import { post } from '@svc/outbound/post.ts'
import { createResolve, findAddresses, type Resolve } from '@svc/outbound/resolve.ts'
import { type ExemptTargets, parseWebhookUrl } from '@svc/outbound/webhook-url.ts'
import { standardHeaders } from '@svc/svc1/node/webhook-headers.ts'
import { standardWebhookKey } from '@svc/svc1/webhook-key.ts'
import type { Subscription } from './subscription-store.ts'
import { TIMES, type Times } from './times.ts'

export interface CallbackRules {
  /** Targets that need not be public, for tests. */
  readonly exemptTargets?: ExemptTargets
  readonly resolve?: Resolve
  /** A clock that a test moves. */
  readonly times?: Times
}

/** The names that the extension has for failures. They contain nothing that the receiver sent. */
export type Failure = 'connection_refused' | 'timeout' | 'tls_error' | 'http_4xx' | 'http_5xx' | 'challenge_failed'

type Answer = { readonly status: number; readonly body: string } | { readonly failure: Failure }

const TIMEOUT_MS = 5_000

/** Posts to the callbacks of subscriptions, only to public addresses over HTTPS. */
export class Callbacks {
  readonly #exempt: ExemptTargets
  readonly #resolve: Resolve
  readonly #times: Times

  constructor({ exemptTargets = new Set(), resolve = createResolve(), times = TIMES }: CallbackRules) {
    this.#exempt = exemptTargets
    this.#resolve = resolve
    this.#times = times
  }

  /** @returns the host. @throws ServiceError if the URL is not allowed. */
  hostOf(url: string): string {
    return parseWebhookUrl(url, this.#exempt).host
  }

  /** @param id `webhook-id`, the same for every attempt. Never throws for a receiver's fault. */
  async send(
    to: Pick<Subscription, 'id' | 'url' | 'secret' | 'oldSecret'>,
    id: string,
    value: object,
  ): Promise<Answer> {
    const body = JSON.stringify(value)
    const nowMs = this.#times.nowMs()
    const timestamp = String(Math.floor(nowMs / 1000))
    const old = to.oldSecret !== undefined && to.oldSecret.untilMs > nowMs ? [to.oldSecret.secret] : []
    const keys = [to.secret, ...old].flatMap((secret) => standardWebhookKey(secret) ?? [])
    const parts: Uint8Array[] = []
    try {
      const target = parseWebhookUrl(to.url, this.#exempt)
      const addresses = await findAddresses(target, this.#resolve)
      const status = await post({
        target,
        addresses,
        headers: {
          'content-type': 'application/json',
          'user-agent': `${SERVICE.name}/${SERVICE.version}`,
          'x-mcp-subscription-id': to.id,
          ...standardHeaders(keys, { id, timestamp, body }),
        },
        body,
        timeoutMs: TIMEOUT_MS,
        onAnswer: (part) => parts.push(part),
      })
      return { status, body: Buffer.concat(parts).toString('utf8') }
    } catch (error) {
      return { failure: failureOf(error) }
    }
  }

  /** Asks the receiver to repeat a nonce, which shows that it wants the deliveries. @returns why it did not. */
  async challenge(to: Parameters<Callbacks['send']>[0]): Promise<Failure | undefined> {
    const challenge = randomBytes(32).toString('base64url')
    const answer = await this.send(to, controlId('verification'), { type: 'verification', challenge })
    if ('failure' in answer) return answer.failure
    return refusalOf(answer.status) ?? (repeats(answer.body, challenge) ? undefined : 'challenge_failed')
  }
}

/** `webhook-id` of a body that is no event. */
export function controlId(type: string): string {
  return `msg_${type}_${randomBytes(12).toString('hex')}`
}

/** @returns undefined if the receiver has accepted. */
export function refusalOf(status: number): Failure | undefined {
  if (status >= 200 && status < 300) return undefined
  return status >= 500 ? 'http_5xx' : 'http_4xx'
}

/** Compares in constant time. */
function repeats(body: string, challenge: string): boolean {
  let found: unknown
  try {
    found = (JSON.parse(body) as { challenge?: unknown } | null)?.challenge
  } catch {
    return false
  }
  const [given, wanted] = [Buffer.from(typeof found === 'string' ? found : ''), Buffer.from(challenge)]
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}

function failureOf(error: unknown): Failure {
  if (!(error instanceof AttemptError)) return 'connection_refused'
  if (error.result === 'timeout') return 'timeout'
  return error.message.startsWith('tls') ? 'tls_error' : 'connection_refused'
}
