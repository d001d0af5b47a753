import type { TracingConfig } from '@svc/config/process.ts'
import { useTracer } from './tracing.ts'

/** Begins with traces where they are configured. @returns what sends the last of them. */
export async function startTracing(options: {
  readonly service: string
  readonly version: string
  readonly tracing: TracingConfig | undefined
}): Promise<AsyncDisposable> {
  const { service, version, tracing } = options
  if (tracing === undefined) return { [Symbol.asyncDispose]: async () => {} }
  const { createTracer } = await import('./otel.ts')
  return useTracer(createTracer({ service, version, tracing }))
}
