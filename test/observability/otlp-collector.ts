/** A collector for the processes' spans: OTLP over HTTP, as JSON. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface CollectedSpan {
  /** `svc-gateway` */
  readonly service: string
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  /** '' for the first span of a trace. */
  readonly parentSpanId: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly links: readonly { traceId: string; spanId: string }[]
  readonly isError: boolean
}

export interface OtlpCollector extends AsyncDisposable {
  /** The value of `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string
  readonly spans: readonly CollectedSpan[]
  /** Everything that was received, unparsed. */
  readonly texts: readonly string[]
}

interface Attribute {
  key: string
  value: { stringValue?: string; intValue?: number | string }
}

interface ExportedTraces {
  resourceSpans: {
    resource: { attributes: Attribute[] }
    scopeSpans: { spans: ExportedSpan[] }[]
  }[]
}

interface ExportedSpan extends Omit<CollectedSpan, 'service' | 'attributes' | 'isError' | 'parentSpanId'> {
  parentSpanId?: string
  attributes?: Attribute[]
  status?: { code?: number }
}

const STATUS_ERROR = 2

export async function startOtlpCollector(): Promise<OtlpCollector> {
  const spans: CollectedSpan[] = []
  const texts: string[] = []
  const server = createServer(async (request, response) => {
    const body = await text(request)
    texts.push(body)
    if (request.url === '/v1/traces') spans.push(...spansOf(JSON.parse(body) as ExportedTraces))
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    texts,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function spansOf({ resourceSpans }: ExportedTraces): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap((scope) =>
      scope.spans.map(
        ({ name, traceId, spanId, parentSpanId = '', attributes = [], links = [], status }): CollectedSpan => ({
          service: String(attributesOf(resource.attributes)['service.name']),
          name,
          traceId,
          spanId,
          parentSpanId,
          attributes: attributesOf(attributes),
          links,
          isError: status?.code === STATUS_ERROR,
        }),
      ),
    ),
  )
}

function attributesOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]))
}
