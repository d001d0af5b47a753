/** The attacks of connections.test.ts, and others on connections, behind the proxies of deploy/edge. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startEdge, whyNot } from '../support/engines/edge-proxy.ts'
import { eventually } from '../support/eventually.ts'
import { lacks } from '../support/run/lacks.ts'
import { type LoneGateway, startLoneGateway } from './lone-gateway.ts'
import { chunked, chunks, openConnection, openNeighbours, type RawConnection, request } from './raw-connection.ts'

const EDGES = ['deploy/edge/haproxy.cfg', 'deploy/edge/nginx.conf'] as const
/** A lower limit of nginx, so that a test reaches it. */
const MOST = 20
const FEWER = ['clients 4000', `clients ${MOST}`] as const

describe.each(EDGES)('behind %s', (name) => {
  describe.skipIf(lacks(whyNot(name)))('spec 3.20', () => {
    const stack = new AsyncDisposableStack()
    let gateway: LoneGateway
    let port: number
    beforeAll(async () => {
      gateway = stack.use(await startLoneGateway('{}', { SVC_TRUSTED_PROXIES: '127.0.0.1' }))
      port = await startHere()
    })
    afterAll(() => stack.disposeAsync())

    /** @returns the port of the proxy. */
    async function startHere(changes: Parameters<typeof startEdge>[2] = []): Promise<number> {
      return Number(new URL(stack.use(await startEdge(name, [gateway.port], changes)).url).port)
    }

    async function openMany(count: number, address: string, bytes: string, to = port): Promise<RawConnection[]> {
      const connections: RawConnection[] = []
      for (let at = 0; at < count; at += 1) {
        const connection = await openConnection(to, address)
        stack.defer(() => void connection.socket.destroy())
        connection.socket.write(bytes)
        connections.push(connection)
      }
      return connections
    }

    const connectionsOfGateway = (): Promise<number> => gateway.measure(/agentmsg_http_connections\{[^}]*\}/)

    test('malformed HTTP ends at the proxy, and costs only the connection that sent it', async () => {
      await using neighbours = await openNeighbours(port, '127.0.6.1')
      expect(await neighbours.isServed()).toBe(true)
      const hostile = await openMany(100, neighbours.address, 'junk\r\n\r\n')
      await Promise.all(hostile.map(({ closed }) => closed))
      expect(await neighbours.isServed()).toBe(true)
      expect(await gateway.measure(/agentmsg_http_refused_total\{reason="not_http"[^}]*\}/)).toBe(0)
    })

    test('unfinished heads stay at the proxy, and take no connection of the gateway', async () => {
      await using neighbours = await openNeighbours(port, '127.0.6.2')
      const slow = await openMany(300, neighbours.address, request('GET /v2/x').slice(0, -2))
      expect(await neighbours.isServed()).toBe(true)
      expect(slow.filter(({ socket }) => socket.closed)).toHaveLength(0)
      expect(await connectionsOfGateway()).toBeLessThan(100)
    })

    test('pipelines reach the gateway one request at a time, so it need close none of them', async () => {
      await using neighbours = await openNeighbours(port, '127.0.6.3')
      const [small, ...large] = await openMany(13, neighbours.address, request('GET /v2/x').repeat(100))
      for (const { socket } of large) socket.write(request('GET /v2/x').repeat(2_900))
      expect(await neighbours.isServed()).toBe(true)
      await eventually(() => small?.statuses.length === 100)
      expect(await neighbours.isServed()).toBe(true)
      expect(await gateway.measure(/agentmsg_http_closed_total\{reason="pipelined"[^}]*\}/)).toBe(0)
    })

    test('a body in one-byte chunks is read up to its limit', async () => {
      await using neighbours = await openNeighbours(port, '127.0.6.4')
      const { socket, statuses } = neighbours.misused
      socket.write(`${chunked('/v2/messages')}${chunks(96 * 1024, 'x')}0\r\n\r\n`)
      while (statuses.length === 0 && !socket.closed) expect(await neighbours.isServed()).toBe(true)
      expect(statuses).toEqual(['401'])
    })

    // The limit of HAProxy has no test yet.
    test.runIf(name.endsWith('nginx.conf'))(
      'past its limit, an address gets no further place at the proxy, keeps those it has, and others are served',
      async () => {
        const limited = await startHere([FEWER])
        const unfinished = `${request('POST /v2/messages', 'Content-Length: 2')}{`
        const held = await openMany(MOST, '127.0.6.5', unfinished, limited)
        const isRefused = ({ socket, statuses }: RawConnection): boolean => socket.closed || statuses[0] === '503'
        await eventually(async () => {
          const [late] = await openMany(1, '127.0.6.5', unfinished, limited)
          await eventually(() => late !== undefined && isRefused(late), { timeoutMs: 500 })
        })
        await using others = await openNeighbours(limited, '127.0.6.6')
        expect(await others.isServed()).toBe(true)
        for (const { socket } of held) socket.write('}')
        await eventually(() => held.every(({ statuses }) => statuses[0] === '401'))
      },
    )
  })
})
