import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { type Authority, createAuthority } from '@svc/test/support/engines/certificates.ts'
import { afterEach, expect, test, vi } from 'vitest'
import { startTracing } from './start-tracing.ts'
import { newTraceparent } from './trace.ts'
import { activeTrace, inBatchSpan, inRootSpan, inSpan, isSampled, isTracing } from './tracing.ts'

afterEach(() => vi.unstubAllEnvs())

test('without an endpoint nothing is traced, and work runs as usual', async () => {
  await using _ = await startTracing({ service: 'test', version: '1', tracing: undefined })
  const traceparent = newTraceparent()
  expect(isTracing()).toBe(false)
  expect(await inRootSpan('root', traceparent, {}, async (own) => [own, activeTrace()])).toEqual([
    traceparent,
    undefined,
  ])
})

test('an unsampled request is not traced, and passes its trace on', async () => {
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', 'http://127.0.0.1:1')
  await using _ = await startTracing({ service: 'test', version: '1', tracing: { ratio: 0, delayMs: 60_000 } })
  const traceparent = newTraceparent()
  expect(await inRootSpan('root', traceparent, {}, async (own) => own)).toBe(traceparent)
  expect(await inSpan('call', { kind: 'client', parent: traceparent }, async (own) => own)).toBe(traceparent)
})

test('a trace has the id of its request; a batch belongs only to the traces of its items, whichever call began it', async () => {
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', 'http://127.0.0.1:1')
  await using _ = await startTracing({ service: 'test', version: '1', tracing: { ratio: 1, delayMs: 60_000 } })
  const traceparent = newTraceparent()
  await inRootSpan('root', traceparent, {}, async (own) => {
    expect(own.slice(0, 35)).toBe(traceparent.slice(0, 35))
    expect([isSampled(own), activeTrace()]).toEqual([true, own])
    const other = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
    await inBatchSpan('others', [undefined, other], async () => expect(activeTrace()).toMatch(/^00-a{32}-/))
    await inBatchSpan('nobody', [undefined], async () => expect(activeTrace()).toBeUndefined())
  })
})

test('a collector that does not answer does not delay a drain', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${port}`)
  const tracing = await startTracing({ service: 'test', version: '1', tracing: { ratio: 1, delayMs: 60_000 } })
  await inRootSpan('root', newTraceparent(), {}, async () => {})
  const beganMs = performance.now()
  await tracing[Symbol.asyncDispose]()
  // Shorter than the exporter's own timeout of 10 s.
  expect(performance.now() - beganMs).toBeLessThan(8_000)
  silent.closeAllConnections()
  silent.close()
})

test('spans go to https:// under TLS, and only to a collector whose certificate is trusted', async () => {
  const [trusted, stranger] = [await createAuthority(), await createAuthority()]
  setDefaultCACertificates([...getCACertificates('default'), trusted.cert])
  const requestsOf = async (authority: Authority): Promise<number> => {
    let requests = 0
    const collector = createSecureServer(await authority.issue(), (_, response) => {
      requests += 1
      response.end()
    }).listen(0, '127.0.0.1')
    collector.on('tlsClientError', () => {})
    await once(collector, 'listening')
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `https://localhost:${(collector.address() as AddressInfo).port}`)
    const tracing = await startTracing({ service: 'test', version: '1', tracing: { ratio: 1, delayMs: 60_000 } })
    await inRootSpan('root', newTraceparent(), {}, async () => {})
    await tracing[Symbol.asyncDispose]()
    collector.closeAllConnections()
    collector.close()
    return requests
  }
  expect(await requestsOf(stranger)).toBe(0)
  expect(await requestsOf(trusted)).toBe(1)
})
