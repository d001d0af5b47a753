/** The event stream behind a proxy. The conformance suite has the rules of spec 9.7 to 9.9. */
import { expect, test } from 'vitest'
import { got } from '../../support/client/answers.ts'
import { openEventStream } from '../../support/client/event-stream.ts'
import { startCompressingProxy } from '../../support/stand-ins/compressing-proxy.ts'
import { shareHarness } from '../../support/system/harness.ts'

test('spec 9.7: a proxy that compresses answers passes each event on at once', async () => {
  await using h = await shareHarness('roomy')
  const [ben] = await h.agents(1)
  await using proxy = await startCompressingProxy(h.place.url)
  expect((await ben.get('/v2/events', { url: proxy.url })).headers.get('content-encoding')).toBe('gzip')
  using stream = await openEventStream(ben, '', { url: proxy.url })
  await stream.until('cursor')
  await got(ben.send(ben))
  await stream.until('message')
})
