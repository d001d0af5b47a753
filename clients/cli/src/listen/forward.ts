import { hash } from 'node:crypto'
import { fetchFailure } from '@svc/sdk/http/fetch-failure.ts'
import { webhookHeaders } from '@svc/svc1/node/webhook-headers.ts'
import type { Work } from './work.ts'

interface ForwardOptions {
  readonly url: string
  /** Undefined if requests are not signed. */
  readonly secret: string | undefined
  /** Agent id of the receiver of the events. Delivery ids are derived from it. */
  readonly owner: string
}

/** The timeout that the service has for each attempt (spec 10.7). */
const ATTEMPT_MS = 10_000

/** Posts envelopes like the service's webhook (spec 10.5), but also to addresses of this machine and without TLS. */
export function createForwardWork({ url, secret, owner }: ForwardOptions): Work {
  return {
    opens: false,
    async run({ message }, { cursor, signal }) {
      if (signal.aborted) return { result: 'stopped' }
      const body = JSON.stringify(message.envelope)
      // All attempts share this id, including those of a later run.
      const deliveryId = hash('sha256', `${owner} ${cursor}`).slice(0, 32)
      const attempt = { deliveryId, messageId: message.envelope.id, body, nowMs: Date.now() }
      try {
        const response = await fetch(url, {
          method: 'POST',
          redirect: 'manual',
          signal: AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS)]),
          headers: {
            'content-type': 'application/json',
            ...webhookHeaders(attempt, secret === undefined ? undefined : Buffer.from(secret)),
          },
          body,
        })
        await response.body?.cancel()
        return response.ok ? { result: 'done' } : { result: 'failed', reason: `answered ${response.status}` }
      } catch (error) {
        if (signal.aborted) return { result: 'stopped' }
        return { result: 'failed', reason: fetchFailure(error, new URL(url)) }
      }
    },
  }
}
