/** Clients that request a lot and read nothing. The gateway has default limits and the memory limit of its manifest. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { signRequest } from '@svc/svc1/sign.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { canMeasureCpu } from '../tools/bench/process-cpu.ts'
import { AUTHORITY, type LoneGateway, memoryLimit, startLoneGateway } from './lone-gateway.ts'

const ADDRESSES = 88
/** Pages that each address requests by pipelining. */
const PAGES = 15
/** All pages together exceed the memory limit of the manifest. */
const PAGE = JSON.stringify({ messages: ['x'.repeat(500 * 1024)], next_cursor: '' })
const LARGEST_DOCUMENT = '/docs/swagger-ui-bundle.js'

let gateway: LoneGateway
beforeAll(async () => {
  gateway = await startLoneGateway(PAGE)
})
afterAll(() => gateway?.[Symbol.asyncDispose]())

function pageRequest(): string {
  const headers = signRequest(gateway.key, { authority: AUTHORITY, method: 'GET', target: '/v2/inbox' })
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `GET /v2/inbox HTTP/1.1\r\nHost: ${AUTHORITY}\r\n${lines.join('')}\r\n`
}

/** Requests pages on one connection and does not read the answers. */
function ask(address: string, pages: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: gateway.port, host: '127.0.0.1', localAddress: address }).pause()
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject).on('error', () => {}) // the gateway resets it
      socket.write(Array.from({ length: pages }, pageRequest).join(''), () => resolve(socket))
    })
  })
}

/** Retries, because an unsigned request may be refused for a moment while the pages are made. */
function getDocument(): Promise<string> {
  return eventually(async () => {
    const answer = await fetch(`http://127.0.0.1:${gateway.port}${LARGEST_DOCUMENT}`)
    const text = await answer.text()
    return answer.status !== 503 && (answer.ok ? 'whole' : `${answer.status} ${text}`)
  })
}

test.runIf(canMeasureCpu)(
  '1,320 unread pages would not fit into memory: memory stays bounded, and other clients are answered',
  async () => {
    const sockets: Socket[] = []
    let most = 0
    try {
      for (let address = 1; address <= ADDRESSES; address += 1) {
        sockets.push(await ask(`127.0.1.${address}`, PAGES))
        expect(await getDocument()).toBe('whole')
        most = Math.max(most, gateway.residentBytes())
      }
      expect(most).toBeGreaterThan(0)
      expect(most).toBeLessThan(memoryLimit())
    } finally {
      for (const socket of sockets) socket.destroy()
    }
  },
)

test.runIf(canMeasureCpu)(
  '700 pages at once would not fit into memory either, for clients that read them: few are made at a time',
  async () => {
    const clients = Array.from({ length: 700 }, (_, at) => ask(`127.0.1.${(at % ADDRESSES) + 1}`, 1))
    const sockets = await Promise.all(clients)
    let most = 0
    try {
      let isDone = false
      void Promise.all(sockets.map((socket) => once(socket.resume(), 'data'))).then(() => {
        isDone = true
      })
      await eventually(() => {
        most = Math.max(most, gateway.residentBytes())
        return isDone
      })
      expect(most).toBeLessThan(memoryLimit())
    } finally {
      for (const socket of sockets) socket.destroy()
    }
  },
)
