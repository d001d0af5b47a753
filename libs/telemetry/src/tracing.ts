/**
 * Traces: a span for each request, for both ends of each call, for each batch and for each SQL statement. Tracing is off
 * unless the standard `OTEL_…` variables name a destination (libs/config, process.ts). When it is off, OpenTelemetry is not
 * loaded, and the functions here cost one comparison. A span is identified by its traceparent, which is sent over NATS with
 * every call, and as a header of each event. Code without its own context (a statement, a batch) finds it in
 * `AsyncLocalStorage`.
 *
 * Attributes are names of operations, calls, statements and outcomes. They are never ids or anything that a client wrote.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

type SpanKind = 'server' | 'client' | 'producer' | 'consumer' | 'internal'

interface SpanOptions {
  readonly kind: SpanKind
  /** The traceparent of the parent span. */
  readonly parent: string
  /** Traceparents of further spans that this span belongs to. */
  readonly links?: readonly string[]
  readonly attributes?: Readonly<Record<string, string | number>>
}

/** A started span. */
export interface Span {
  readonly traceparent: string
  /** @param error the failure that ended the span, if any. */
  end(error?: unknown): void
}

/** The part of OpenTelemetry that we use. otel.ts has the only implementation. */
export interface Tracer extends AsyncDisposable {
  start(name: string, options: SpanOptions): Span
  /** Starts a trace with the id of this traceparent, unless sampling drops it. */
  startRoot(name: string, traceparent: string, attributes: SpanOptions['attributes']): Span | undefined
}

const active = new AsyncLocalStorage<string | undefined>()
let tracer: Tracer | undefined

/** Turns tracing on. @returns a resource that sends the last spans and turns tracing off when it is disposed. */
export function useTracer(given: Tracer): AsyncDisposable {
  tracer = given
  return {
    async [Symbol.asyncDispose]() {
      tracer = undefined
      await given[Symbol.asyncDispose]()
    },
  }
}

export function isTracing(): boolean {
  return tracer !== undefined
}

/** Whether this process traces work that has this traceparent. */
export function isSampled(traceparent: string | undefined): traceparent is string {
  return tracer !== undefined && traceparent?.endsWith('-01') === true
}

/** The traceparent of the current span. */
export function activeTrace(): string | undefined {
  return active.getStore()
}

/** Runs the work of a request as the first span of a trace, or untraced if sampling drops it. */
export async function inRootSpan<T>(
  name: string,
  traceparent: string,
  attributes: SpanOptions['attributes'],
  work: (traceparent: string) => Promise<T>,
): Promise<T> {
  const span = tracer?.startRoot(name, traceparent, attributes)
  return span === undefined ? work(traceparent) : runIn(span, work)
}

/** Runs the work as a span if its parent is traced. @param work gets the traceparent for its own calls. */
export async function inSpan<T>(
  name: string,
  options: SpanOptions,
  work: (traceparent: string) => Promise<T>,
): Promise<T> {
  if (tracer === undefined || !isSampled(options.parent)) return work(options.parent)
  return runIn(tracer.start(name, options), work)
}

/** Starts a span that the caller ends, e.g. for a promise that cannot be wrapped. */
export function startSpan(name: string, options: SpanOptions): Span | undefined {
  return tracer === undefined || !isSampled(options.parent) ? undefined : tracer.start(name, options)
}

/**
 * Runs the work of a batch, which belongs to several traces at once. The span's parent is the first of `traces` that is
 * traced; the others become links. @param name if it is absent there is no span, and the first traced context becomes
 * current.
 */
export async function inBatchSpan<T>(
  name: string | undefined,
  traces: readonly (string | undefined)[],
  work: () => Promise<T>,
): Promise<T> {
  const [parent, ...links] = traces.filter(isSampled)
  if (parent === undefined || name === undefined) return active.run(parent, work)
  return inSpan(
    `batch ${name}`,
    { kind: 'internal', parent, links, attributes: { 'svc.batch.items': traces.length } },
    work,
  )
}

async function runIn<T>(span: Span, work: (traceparent: string) => Promise<T>): Promise<T> {
  try {
    const result = await active.run(span.traceparent, work, span.traceparent)
    span.end()
    return result
  } catch (error) {
    span.end(error)
    throw error
  }
}
