/** OpenTelemetry. Loaded only if traces are configured. */
import {
  type Span as OtelSpan,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { TracingConfig } from '@svc/config/process.ts'
import type { Span, Tracer } from './tracing.ts'

interface OtelOptions {
  readonly service: string
  readonly version: string
  readonly tracing: TracingConfig
}

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const

/** The exporter itself reads the destination and headers of spans from `OTEL_EXPORTER_OTLP_…`. */
export function createTracer({ service, version, tracing }: OtelOptions): Tracer {
  const ids = new RandomIdGenerator()
  // A trace must have the id that the client gets as X-Request-Id, and that id exists before the sampling decision.
  let nextTraceId: string | undefined
  const provider = new TracerProvider({
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(tracing.ratio) }),
    // The environment, `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`, overrides our own resource attributes.
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': `svc-${service}`, 'service.version': version }))
      .merge(detectResources({ detectors: [envDetector] })),
    idGenerator: {
      generateTraceId: () => nextTraceId ?? ids.generateTraceId(),
      generateSpanId: () => ids.generateSpanId(),
    },
    spanProcessors: [
      new BatchSpanProcessor({ exporter: new OTLPTraceExporter(), scheduledDelayMillis: tracing.delayMs }),
    ],
  })
  const tracer = provider.getTracer('svc', version)

  return {
    start(name, { kind, parent, links = [], attributes = {} }) {
      const context = trace.setSpanContext(ROOT_CONTEXT, contextOf(parent))
      const linked = links.map((link) => ({ context: contextOf(link) }))
      return asSpan(tracer.startSpan(name, { kind: KINDS[kind], attributes, links: linked }, context))
    },
    startRoot(name, traceparent, attributes = {}) {
      nextTraceId = contextOf(traceparent).traceId
      const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes, root: true }, ROOT_CONTEXT)
      nextTraceId = undefined
      return (span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0 ? undefined : asSpan(span)
    },
    [Symbol.asyncDispose]: () => provider.shutdown(),
  }
}

function contextOf(traceparent: string): SpanContext {
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-')
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
}

function asSpan(span: OtelSpan): Span {
  const { traceId, spanId } = span.spanContext()
  return {
    traceparent: `00-${traceId}-${spanId}-01`,
    end(error) {
      if (error !== undefined) {
        // A refusal is a normal answer, so the span is not an error.
        if (!isRefusal(error)) span.setStatus({ code: SpanStatusCode.ERROR })
        // Use our own code or the name of the class, because the error's text could contain user data.
        span.setAttribute('error.type', codeOf(error))
      }
      span.end()
    },
  }
}

function codeOf(error: unknown): string {
  if (typeof error === 'string') return error
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

function isRefusal(error: unknown): boolean {
  return error instanceof Error && error.name === 'ServiceError' && !['internal', 'unavailable'].includes(codeOf(error))
}
