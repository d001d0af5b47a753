import type { Logger } from '@svc/telemetry/logger.ts'
import { defineCount } from '@svc/telemetry/metrics.ts'
import { isSampled } from '@svc/telemetry/tracing.ts'
import { headers } from 'nats'
import type { Nats } from '../connect.ts'
import { ACCEPTED_MS } from '../wire/accepted-header.ts'
import { sendWindowOf } from '../wire/send-window.ts'
import { TRACEPARENT } from '../wire/trace-header.ts'

/** An event to be published. */
export interface Publication {
  readonly subject: string
  readonly text: string
  /** The trace of the request that caused the event. Its consumer continues the trace. */
  readonly traceparent?: string | undefined
  /** When the event was accepted, Unix milliseconds. */
  readonly acceptedMs: number
}

export type PublishEvents = (publications: readonly Publication[]) => void

const published = defineCount({
  name: 'agentmsg_events_published_total',
  help: 'Accepted events that were sent to NATS',
  labels: [],
})

/**
 * Sends each event once, in order, and waits for no acknowledgement. Events may be lost: while NATS is away or silent, when this
 * process dies, or in JetStream. Their readers find each of them in the logs within seconds (ADR 20). Never throws.
 */
export function createPublishEvents({ connection }: Nats, logger: Logger): PublishEvents {
  const window = sendWindowOf(connection)
  return (publications) => {
    if (window.isFull) return // the link is silent: the client would keep the events in memory
    try {
      for (const { subject, text, traceparent, acceptedMs } of publications) {
        const fields = headers()
        if (isSampled(traceparent)) fields.set(TRACEPARENT, traceparent)
        fields.set(ACCEPTED_MS, String(acceptedMs))
        connection.publish(subject, text, { headers: fields })
        window.countSent(text.length)
      }
      published.add({}, publications.length)
    } catch (error) {
      logger.warn({ err: error }, 'events were not published: their readers find them in the logs')
    }
  }
}
