/** A busy process stops reading for a while from the clients that send most. */
import type { AddressInfo } from 'node:net'
import { ServiceError } from '@svc/contracts/errors.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { expect, test } from 'vitest'
import { createBackpressure } from '../../src/http/connections/backpressure.ts'
import { createClients } from '../../src/http/connections/client.ts'
import { parseAddressRange } from '../../src/http/connections/client-address.ts'
import { createLoad, Overloaded } from '../../src/http/load/load.ts'
import { createOutflow } from '../../src/http/load/outflow.ts'
import { createHttpApp } from '../../src/http-app.ts'
import { openRaw } from '../support/harness.ts'

const PROXY = '127.0.9.1'

async function startServer() {
  const proxies = parseAddressRange(`${PROXY}/32`)
  const clients = createClients(proxies === undefined ? [] : [proxies])
  const handled: string[] = []
  const pauses: (() => void)[] = []
  let isBusy = false
  const backpressure = createBackpressure({
    clients,
    turn: { hasUsed: () => isBusy },
    after: (work) => void pauses.push(work),
  })
  const logger = createLogger('test', 'silent')
  const outflow = createOutflow({ maxRequests: 10 })
  const app = createHttpApp({
    operations: [],
    pipeline: async ({ raw: { url = '' } }) => {
      handled.push(url)
      throw url === '/refused' ? new Overloaded('refused by the test') : new ServiceError('not_found')
    },
    load: createLoad({ logger, maxRequests: 10 }),
    outflow,
    clients,
    backpressure,
    maxConnectionsPerClient: 100,
    corsOrigins: [],
    logger,
    isDraining: () => false,
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const connections: ReturnType<typeof openRaw>[] = []
  return {
    handled,
    pauses,
    beBusy: (busy: boolean) => {
      isBusy = busy
    },
    open(address: string) {
      const connection = openRaw(port, address)
      connections.push(connection)
      const write = (path: string): void => connection.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
      const ask = async (path: string): Promise<void> => {
        write(path)
        await eventually(() => handled.includes(path))
      }
      return { write, ask }
    },
    async [Symbol.asyncDispose]() {
      for (const { socket } of connections) socket.destroy()
      await app.close()
      outflow[Symbol.dispose]()
    },
  }
}

test.each([
  ['in a long turn', true, '/h3'],
  ['when one of its requests is refused', false, '/refused'],
])('a client that sends more than others is not read for a while: %s', async (_name, isBusy, last) => {
  await using server = await startServer()
  const [light, heavy, sameHeavy] = ['127.0.0.2', '127.0.0.3', '127.0.0.3'].map(server.open) as [
    ReturnType<typeof server.open>,
    ReturnType<typeof server.open>,
    ReturnType<typeof server.open>,
  ]
  await light.ask('/l1')
  for (const path of ['/h1', '/h2']) await heavy.ask(path)
  server.beBusy(isBusy)
  await heavy.ask(last)
  await eventually(() => server.pauses.length === 1)
  heavy.write('/kept')
  sameHeavy.write('/other')
  server.open('127.0.0.3').write('/new')
  for (const path of ['/l2', '/l3']) await light.ask(path)
  expect(server.handled).toEqual(['/l1', '/h1', '/h2', last, '/l2', '/l3'])
  server.beBusy(false)
  for (const end of server.pauses) end()
  await eventually(() => ['/kept', '/other', '/new'].every((path) => server.handled.includes(path)))
  await heavy.ask('/h4')
})

test.each([
  ['if it is the only client', '127.0.0.2'],
  ['if it is a trusted proxy', PROXY],
])('a client is always read %s', async (_name, address) => {
  await using server = await startServer()
  if (address === PROXY) await server.open('127.0.0.2').ask('/l1')
  server.beBusy(true)
  const { ask } = server.open(address)
  for (const path of ['/a', '/refused', '/b']) await ask(path)
  expect(server.pauses).toHaveLength(0)
})
