import { setTimeout as sleep } from 'node:timers/promises'
import type { TracingConfig } from '@svc/config/process.ts'
import { useTracer } from './tracing.ts'

/** Timeout for sending the last spans during a drain. Their receiver may be unavailable. */
const LAST_SPANS_MS = 2_000

/** Starts tracing if it is configured. @returns a resource that sends the last spans when it is disposed. */
export async function startTracing(options: {
  readonly service: string
  readonly version: string
  readonly tracing: TracingConfig | undefined
}): Promise<AsyncDisposable> {
  const { service, version, tracing } = options
  if (tracing === undefined) return { [Symbol.asyncDispose]: async () => {} }
  const { createTracer } = await import('./otel.ts')
  const using = useTracer(createTracer({ service, version, tracing }))
  return {
    async [Symbol.asyncDispose]() {
      // Unsent spans are lost. That is acceptable, because a span can be lost at any time.
      const ended = Promise.resolve(using[Symbol.asyncDispose]()).catch(() => {})
      await Promise.race([ended, sleep(LAST_SPANS_MS, undefined, { ref: false })])
    },
  }
}
