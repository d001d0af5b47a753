import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { createLogger } from '@svc/telemetry/logger.ts'
import { expect, test } from 'vitest'
import { connectNats, isLoginRefused } from '../src/connect.ts'

const INFO = `INFO {"server_id":"s","version":"2.14.0","proto":1,"max_payload":1048576,"auth_required":true}\r\n`

test('a login is known as refused although the server closed its first connection before the reason was read', async () => {
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    const isFirst = connections === 1
    socket.on('error', () => {})
    socket.write(INFO)
    socket.once('data', () => {
      if (isFirst) socket.resetAndDestroy()
      else socket.end("-ERR 'Authorization Violation'\r\n")
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `nats://admin:wrong@127.0.0.1:${(server.address() as AddressInfo).port}`
  const refused = connectNats({ url, name: 'test', logger: createLogger('test', 'silent'), firstConnectMs: 5_000 })
  const reason = await refused.catch((error: unknown) => error)
  expect([isLoginRefused(reason), connections]).toEqual([true, 2])
  server.close()
})
