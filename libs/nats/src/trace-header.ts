import { isSampled } from '@svc/telemetry/tracing.ts'
import type { MsgHdrs } from 'nats'

/** The header of W3C Trace Context, on what is published; calls carry theirs in each of their lines (frames.ts). */
export const TRACEPARENT = 'traceparent'

/** The trace that a message goes on with, where it is traced. */
export function traceOf(headers: MsgHdrs | undefined): string | undefined {
  const traceparent = headers?.get(TRACEPARENT)
  return isSampled(traceparent) ? traceparent : undefined
}
