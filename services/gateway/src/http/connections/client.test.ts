import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { createClients } from './client.ts'
import { parseAddressRange } from './client-address.ts'

const proxies = [parseAddressRange('10.0.0.0/8')].filter((range) => range !== undefined)
const FORWARDED = { 'x-forwarded-for': '192.0.2.1' }

test.each([
  ['a trusted proxy that names a client', proxies, '10.1.2.3', FORWARDED, true],
  ['a trusted proxy that names no client', proxies, '10.1.2.3', {}, false],
  ['a peer that is not a trusted proxy', proxies, '203.0.113.1', FORWARDED, false],
  ['any peer, if no proxy is trusted', [], '10.1.2.3', FORWARDED, false],
])('whether a request is forwarded: from %s', (_, trusted, remoteAddress, headers, forwarded) => {
  const request = { socket: { remoteAddress }, headers } as unknown as IncomingMessage
  expect(createClients(trusted).isForwarded(request)).toBe(forwarded)
})
