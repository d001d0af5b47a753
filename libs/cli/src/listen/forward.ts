import { createHmac, hash } from 'node:crypto'
import type { Work } from './work.ts'

interface ForwardOptions {
  readonly url: string
  /** Undefined: requests are not signed. */
  readonly secret: string | undefined
  /** Whose events they are, for delivery ids. */
  readonly owner: string
}

/** As the service allows for each attempt (spec 10.7). */
const ATTEMPT_MS = 10_000

/** Posts envelopes as the service's webhook does (spec 10.5), also to addresses of this machine and without TLS. */
export function createForwardWork({ url, secret, owner }: ForwardOptions): Work {
  return {
    async run({ cursor, message }, _opened, _attempt, signal) {
      if (signal.aborted) return { result: 'stopped' }
      const body = JSON.stringify(message.envelope)
      const timestamp = String(Math.floor(Date.now() / 1000))
      const { id } = message.envelope
      const signature = secret === undefined ? undefined : sign(secret, `${timestamp}.${id}.${body}`)
      try {
        const response = await fetch(url, {
          method: 'POST',
          redirect: 'manual',
          signal: AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS)]),
          headers: {
            'content-type': 'application/json',
            'x-svc-timestamp': timestamp,
            'x-svc-message-id': id,
            // The same for every attempt, also of a later run.
            'x-svc-delivery-id': hash('sha256', `${owner} ${cursor}`).slice(0, 32),
            ...(signature === undefined ? {} : { 'x-svc-signature': signature }),
          },
          body,
        })
        await response.body?.cancel()
        return response.ok ? { result: 'done' } : { result: 'failed', reason: `answered ${response.status}` }
      } catch (error) {
        if (signal.aborted) return { result: 'stopped' }
        return { result: 'failed', reason: reasonOf(error) }
      }
    },
  }
}

function sign(secret: string, text: string): string {
  return `sha256=${createHmac('sha256', secret).update(text).digest('hex')}`
}

/** `fetch` says no more than «fetch failed»; what happened is in its cause. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error && cause.message !== '' ? cause.message : message
}
