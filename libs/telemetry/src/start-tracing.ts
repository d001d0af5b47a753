import { setTimeout as sleep } from 'node:timers/promises'
import type { TracingConfig } from '@svc/config/process.ts'
import { useTracer } from './tracing.ts'

/** What a drain gives the last spans: whoever takes them may be away, and nothing is to wait for that. */
const LAST_SPANS_MS = 2_000

/** Begins with traces where they are configured. @returns what sends the last of them. */
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
      const ended = Promise.resolve(using[Symbol.asyncDispose]()).catch(() => {})
      await Promise.race([ended, sleep(LAST_SPANS_MS, undefined, { ref: false })])
    },
  }
}
