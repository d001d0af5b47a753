/**
 * Traces: a span for each request, each call at both of its ends, each batch and each SQL statement. Off unless the standard
 * `OTEL_…` variables say where to send them (libs/config, process.ts); OpenTelemetry is not even loaded then, and what is
 * here costs a comparison. A span is known by its traceparent, which crosses NATS with every call and the outbox as a header;
 * what does not carry it in a context of its own (a statement, a batch) finds it in `AsyncLocalStorage`.
 *
 * Attributes are names of operations, calls, statements and outcomes, never ids or anything that a client wrote.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

export type SpanKind = 'server' | 'client' | 'producer' | 'consumer' | 'internal'

export interface SpanOptions {
  readonly kind: SpanKind
  /** The traceparent of what it is part of. */
  readonly parent: string
  /** Traceparents of what else it is part of. */
  readonly links?: readonly string[]
  readonly attributes?: Readonly<Record<string, string | number>>
}

/** A span that has begun. */
export interface Span {
  readonly traceparent: string
  /** @param error what it ended with, where that was a failure. */
  end(error?: unknown): void
}

/** What OpenTelemetry does for us: see otel.ts, the only one. */
export interface Tracer extends AsyncDisposable {
  start(name: string, options: SpanOptions): Span
  /** Begins a trace with the id of this traceparent, where it is to be sampled. */
  startRoot(name: string, traceparent: string, attributes: SpanOptions['attributes']): Span | undefined
}

const active = new AsyncLocalStorage<string | undefined>()
let tracer: Tracer | undefined

/** From now on there are traces. @returns what sends the last of them and ends it. */
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

/** Whether what carries this traceparent is traced, here. */
export function isSampled(traceparent: string | undefined): traceparent is string {
  return tracer !== undefined && traceparent?.endsWith('-01') === true
}

/** The traceparent of the span that this is part of. */
export function activeTrace(): string | undefined {
  return active.getStore()
}

/** Does the work of a request as the first span of a trace, or untraced, which sampling decides. */
export async function inRootSpan<T>(
  name: string,
  traceparent: string,
  attributes: SpanOptions['attributes'],
  work: (traceparent: string) => Promise<T>,
): Promise<T> {
  const span = tracer?.startRoot(name, traceparent, attributes)
  return span === undefined ? work(traceparent) : runIn(span, work)
}

/** Does the work as a span, where its parent is traced. @param work is given the traceparent that its own calls carry. */
export async function inSpan<T>(
  name: string,
  options: SpanOptions,
  work: (traceparent: string) => Promise<T>,
): Promise<T> {
  if (tracer === undefined || !isSampled(options.parent)) return work(options.parent)
  return runIn(tracer.start(name, options), work)
}

/** A span that somebody else ends, e.g. that of a promise which is not ours to wrap. */
export function startSpan(name: string, options: SpanOptions): Span | undefined {
  return tracer === undefined || !isSampled(options.parent) ? undefined : tracer.start(name, options)
}

/**
 * Does the work of a batch, which is part of several traces at once and has no other context than these: a span of the first
 * that is traced, with links to the rest. @param name without one there is no span, and the first context holds.
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
