import type { Nats } from '@svc/nats/connect.ts'
import { traceOf } from '@svc/nats/trace-header.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { type AcceptedEvent, parseAccepted } from './domain/accepted-event.ts'

/** What is accepted for an agent, as it is published. Anything may be missing, repeated or out of order. */
export interface Live {
  /** When this is fulfilled the server knows of it: what is published from then on is heard. */
  listen(agentId: string, heard: (event: AcceptedEvent) => void): Promise<Disposable>
}

const FLUSH_LIMIT_MS = 2_000

export function createLive({ connection }: Nats, logger: Logger): Live {
  return {
    async listen(agentId, heard) {
      // Core NATS, not a consumer: history makes up for what is lost, at no cost to the server for each stream.
      const subscription = connection.subscribe(`accepted.${agentId}.>`, {
        callback: (error, message) => {
          const event = error === null ? parseAccepted(message.string(), Math.floor(Date.now() / 1000)) : undefined
          if (event === undefined) logger.error({ err: error ?? undefined }, 'what was accepted breaks its contract')
          else heard(withTrace(event, traceOf(message.headers)))
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

function withTrace(event: AcceptedEvent, traceparent: string | undefined): AcceptedEvent {
  if (traceparent === undefined || event.kind !== 'event') return event
  return { kind: 'event', heard: { ...event.heard, traceparent } }
}

/** A flush waits for as long as NATS is away. */
async function withLimit(work: Promise<void>, limitMs: number): Promise<void> {
  const limit = Promise.withResolvers<never>()
  const timer = setTimeout(() => limit.reject(new Error('NATS does not answer')), limitMs)
  work.catch(() => {}) // it may fail when nobody waits for it any more
  try {
    await Promise.race([work, limit.promise])
  } finally {
    clearTimeout(timer)
  }
}
