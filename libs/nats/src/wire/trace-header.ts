import { isSampled } from '@svc/telemetry/tracing.ts'
import type { MsgHdrs } from 'nats'

/** The header of W3C Trace Context on published events. Calls carry theirs in each line instead (frames.ts). */
export const TRACEPARENT = 'traceparent'

/** The trace that a message continues, if it is traced. */
export function traceOf(headers: MsgHdrs | undefined): string | undefined {
  const traceparent = headers?.get(TRACEPARENT)
  return isSampled(traceparent) ? traceparent : undefined
}
