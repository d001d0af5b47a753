import { TaskPushNotificationConfig as Config, StreamResponse, type TaskPushNotificationConfig } from '@a2a-js/sdk'
import { PushNotificationNotSupportedError, RequestMalformedError } from '@a2a-js/sdk/errors'
import { SERVICE } from '@svc/contracts/limits.ts'
import type { Log } from '@svc/mcp/log.ts'
import { post } from '@svc/outbound/post.ts'
import { createResolve, findAddresses, type Resolve } from '@svc/outbound/resolve.ts'
import { type ExemptTargets, parseWebhookUrl } from '@svc/outbound/webhook-url.ts'
import { sleep } from '@svc/sdk/http/waiting.ts'
import { Lines } from '@svc/sdk/lines.ts'
import type { Change, TaskBook } from './tasks.ts'

export interface PushRules {
  /** Targets that need not be public, for tests. */
  readonly exemptTargets?: ExemptTargets
  readonly resolve?: Resolve
}

const TIMEOUT_MS = 10_000
const BACKOFF_MS: readonly number[] = [0, 5_000, 30_000, 120_000]
const MAX_POSTS = 8

/** Posts the changes of tasks to the URLs that local clients have named: HTTPS, and public addresses only. */
export class Pushes {
  readonly #book: TaskBook
  readonly #rules: Required<PushRules>
  readonly #log: Log
  readonly #signal: AbortSignal
  readonly #lines = new Lines(MAX_POSTS)

  constructor(book: TaskBook, { log, signal, rules }: { log: Log; signal: AbortSignal; rules: PushRules }) {
    this.#book = book
    this.#rules = { exemptTargets: new Set(), resolve: createResolve(), ...rules }
    this.#log = log
    this.#signal = signal
    book.watch((change) => this.#enqueue(change))
  }

  /** @throws A2AError if the URL is not allowed, or the credentials cannot be sent in a header. */
  check({ url, token, authentication }: TaskPushNotificationConfig): void {
    try {
      parseWebhookUrl(url, this.#rules.exemptTargets)
    } catch (cause) {
      throw new PushNotificationNotSupportedError({ message: (cause as Error).message, cause })
    }
    const texts = [token, authentication?.scheme ?? '', authentication?.credentials ?? '']
    if (!texts.every((text) => /^[ -~]*$/.test(text)))
      throw new RequestMalformedError({ message: 'token and authentication must be visible ASCII' })
  }

  #enqueue({ task, responses }: Change): void {
    for (const json of this.#book.pushesOf(task)) {
      const config = Config.fromJSON(json)
      const bodies = responses.map((response) => JSON.stringify(StreamResponse.toJSON(response)))
      for (const body of bodies) this.#lines.add(`${task} ${config.id}`, () => this.#send(config, body))
    }
  }

  async #send(config: TaskPushNotificationConfig, body: string): Promise<void> {
    for (const delayMs of BACKOFF_MS) {
      try {
        await sleep(delayMs, this.#signal)
        const status = await this.#post(config, body)
        if (status < 500 && status !== 429) return
        this.#log('push.failed', { task: config.taskId, status })
      } catch (error) {
        if (this.#signal.aborted) return
        this.#log('push.failed', { task: config.taskId, reason: (error as Error).message })
      }
    }
  }

  async #post({ url, token, authentication }: TaskPushNotificationConfig, body: string): Promise<number> {
    const target = parseWebhookUrl(url, this.#rules.exemptTargets)
    const addresses = await findAddresses(target, this.#rules.resolve)
    const headers = {
      'content-type': 'application/a2a+json',
      'user-agent': `${SERVICE.name}/${SERVICE.version}`,
      ...(token === '' ? {} : { 'x-a2a-notification-token': token }),
      ...(authentication === undefined
        ? {}
        : { authorization: `${authentication.scheme} ${authentication.credentials}`.trim() }),
    }
    return post({ target, addresses, headers, body, timeoutMs: TIMEOUT_MS })
  }
}
