import type { Nats } from '@svc/nats/connect.ts'
import { acceptedMsOf } from '@svc/nats/wire/accepted-header.ts'
import { traceOf } from '@svc/nats/wire/trace-header.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { type AcceptedEvent, parseAccepted } from '../domain/accepted-event.ts'
import type { Heard } from '../domain/backlog.ts'

/** Receives an agent's accepted events as they are published. Events may be missing, repeated or out of order. */
export interface Live {
  /** Resolves when the server knows of the subscription: every later event is sent to it. */
  listen(agentId: string, heard: (event: AcceptedEvent) => void): Promise<Disposable>
}

const FLUSH_LIMIT_MS = 2_000

export function createLive({ connection }: Nats, logger: Logger): Live {
  return {
    async listen(agentId, heard) {
      // Core NATS rather than a consumer, which would cost the server something for each stream. History replaces what
      // is lost.
      const subscription = connection.subscribe(`accepted.${agentId}.>`, {
        callback: (error, message) => {
          const event = error === null ? parseAccepted(message.string(), Math.floor(Date.now() / 1000)) : undefined
          if (event === undefined)
            logger.error({ err: error ?? undefined }, 'an accepted event cannot be read: it breaks its contract')
          else
            heard(
              withFacts(event, { traceparent: traceOf(message.headers), acceptedMs: acceptedMsOf(message.headers) }),
            )
        },
      })
      try {
        await withLimit(connection.flush(), FLUSH_LIMIT_MS)
      } catch (error) {
        subscription.unsubscribe()
        throw error
      }
      return { [Symbol.dispose]: () => subscription.unsubscribe() }
    },
  }
}

/** Adds what the headers say. */
function withFacts(event: AcceptedEvent, facts: Pick<Heard, 'traceparent' | 'acceptedMs'>): AcceptedEvent {
  return event.kind === 'event' ? { kind: 'event', heard: { ...event.heard, ...facts } } : event
}

/** Adds a timeout, because a flush waits for as long as NATS is not connected. */
async function withLimit(work: Promise<void>, limitMs: number): Promise<void> {
  const limit = Promise.withResolvers<never>()
  const timer = setTimeout(() => limit.reject(new Error(`NATS did not answer within ${limitMs} ms`)), limitMs)
  work.catch(() => {}) // it may fail after the timeout
  try {
    await Promise.race([work, limit.promise])
  } finally {
    clearTimeout(timer)
  }
}
