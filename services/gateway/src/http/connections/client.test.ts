import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from '@svc/telemetry/logger.ts'
import { expect, test, vi } from 'vitest'
import { createClients } from './client.ts'
import { parseAddressRange } from './client-address.ts'

const proxies = [parseAddressRange('10.0.0.0/8')].filter((range) => range !== undefined)
const FORWARDED = { 'x-forwarded-for': '192.0.2.1' }

test.each([
  ['a trusted proxy that names a client', proxies, '10.1.2.3', FORWARDED, '192.0.2.1', undefined],
  ['a trusted proxy that names no client', proxies, '10.1.2.3', {}, '10.1.2.3', undefined],
  ['a peer that is not a trusted proxy', proxies, '203.0.113.1', FORWARDED, '203.0.113.1', '203.0.113.1'],
  ['any peer, if no proxy is trusted', [], '10.1.2.3', FORWARDED, '10.1.2.3', '10.1.2.3'],
])('spec 3.16: the client of a request and of its connection: from %s, also after it has closed', (...row) => {
  const [, trusted, remoteAddress, headers, ofRequest, ofConnection] = row
  const socket = { remoteAddress } as { remoteAddress: string | undefined }
  const clients = createClients(trusted)
  for (const address of [remoteAddress, undefined]) {
    socket.remoteAddress = address
    expect(clients.ofRequest({ socket, headers } as unknown as IncomingMessage)).toBe(ofRequest)
    expect(clients.ofConnection(socket as Socket)).toBe(ofConnection)
  }
})

test('each kind of doubt about an address is logged once an hour, whatever requests clients send', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const logged: unknown[] = []
  const logger = { warn: ({ doubt }: { doubt: string }) => logged.push(doubt) } as unknown as Logger
  const clients = createClients(proxies, logger)
  const receive = (headers: object, url = '/v2/me'): string =>
    clients.ofRequest({ url, socket: { remoteAddress: '10.1.2.3' }, headers } as unknown as IncomingMessage)
  receive({}, '/v2/health') // the proxy's own health check
  receive({ 'x-forwarded-for': '127.0.0.1' }, '/v2/health') // the health check in the container of compose's proxy
  expect(logged).toEqual([])
  const requests = [
    {},
    FORWARDED,
    { 'x-forwarded-for': '198.51.100.1, 192.0.2.1' },
    { 'x-forwarded-for': '192.168.0.1' },
  ]
  for (const headers of [...requests, ...requests]) receive(headers)
  expect(logged).toEqual(['absent', 'longer', 'private'])
  vi.advanceTimersByTime(60 * 60 * 1_000)
  receive({})
  expect(logged).toEqual(['absent', 'longer', 'private', 'absent'])
  vi.useRealTimers()
})
