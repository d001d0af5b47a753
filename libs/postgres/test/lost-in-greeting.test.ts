import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createLogger } from '@svc/telemetry/logger.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { expect, test } from 'vitest'
import { openDatabase } from '../src/database.ts'

/** `AuthenticationOk` and `ReadyForQuery`, the messages that a new connection waits for before its first query. */
const GREETING = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49])

test('spec 3.17: a connection that is lost during the driver’s own first query is just an unavailable database', async () => {
  let lost = 0
  const server = createServer((socket: Socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.write(GREETING)
      socket.once('data', () => {
        lost += 1
        socket.resetAndDestroy()
      })
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `postgres://user@127.0.0.1:${(server.address() as AddressInfo).port}/none`
  const logger = createLogger('test', 'silent')
  await using database = openDatabase({ url, application: 'test', logger, statementTimeoutMs: 500 })
  // An unhandled rejection would end a service, and it fails this run.
  await expect(database.run((sql) => sql`select 1`)).rejects.toMatchObject({ code: 'unavailable' })
  await eventually(() => lost > 0)
  server.close()
})
