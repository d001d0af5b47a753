/**
 * One client writes its requests so that they cost a gateway far more work than the client's rate allows. The gateway still
 * answers others.
 */
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canMeasureCpu } from '../bench/process-cpu.ts'
import { eventually } from '../support/eventually.ts'
import { AUTHORITY, type LoneGateway, startLoneGateway } from './lone-gateway.ts'

let gateway: LoneGateway
beforeAll(async () => {
  gateway = await startLoneGateway('{}')
})
afterAll(() => gateway?.[Symbol.asyncDispose]())

interface RawConnection {
  readonly socket: Socket
  readonly received: () => string
  /** Settles when the gateway has closed the connection. */
  readonly closed: Promise<void>
}

/** @param address of the client. Each address has its own rate. */
async function openConnection(address: string): Promise<RawConnection> {
  const socket = connect({ port: gateway.port, host: '127.0.0.1', localAddress: address })
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
  })
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  socket.on('error', () => {}) // the gateway resets it
  return { socket, received: () => received, closed }
}

/** Whether a well-behaved client is answered. */
async function isServed(): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${gateway.port}/openapi.json`)
  await answer.bytes()
  expect(answer.status).toBe(200)
  return true
}

/** @returns the value of one series of a counter; 0 if it is absent. */
async function countOf(series: RegExp): Promise<number> {
  const text = await gateway.metrics()
  return Number(new RegExp(`^${series.source} (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
}

const head = (method: string, ...fields: string[]): string =>
  [`${method} /v2/messages HTTP/1.1`, `Host: ${AUTHORITY}`, ...fields, '', ''].join('\r\n')

describe('a body in many small pieces', () => {
  const CHUNKED = head('POST', 'Transfer-Encoding: chunked')
  const chunks = (count: number, text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`.repeat(count)

  test('most of 98,000 chunks of one byte are not read', async () => {
    const { socket, received, closed } = await openConnection('127.0.2.1')
    socket.write(CHUNKED + chunks(98_000, 'x'))
    await closed
    expect(received()).toMatch(/^HTTP\/1\.1 400 /)
    expect(received()).toContain('the body comes in too many small pieces')
  })

  test('the other connections of its address are closed, and new connections are refused for a moment', async () => {
    const address = '127.0.2.2'
    const other = await openConnection(address)
    const { socket, received, closed } = await openConnection(address)
    socket.write(CHUNKED + chunks(2_000, 'x'))
    await Promise.all([closed, other.closed])
    expect(received()).toMatch(/^HTTP\/1\.1 400 /)
    expect(other.received()).toBe('')
    const late = await openConnection(address)
    await late.closed
    expect(late.received()).toBe('')
    // First another address, then this one again.
    for (const from of ['127.0.2.4', address]) {
      await eventually(async () => {
        const again = await openConnection(from)
        again.socket.write(head('POST', 'Connection: close'))
        await again.closed
        return again.received().startsWith('HTTP/1.1 401 ')
      })
    }
  })

  test('ordinary uploads are read: 256 pieces of any size, and 128 bytes at a time up to the limit of a body', async () => {
    for (const body of [chunks(256, 'x'), chunks(768, 'x'.repeat(128))]) {
      const { socket, received } = await openConnection('127.0.2.3')
      socket.write(`${CHUNKED}${body}0\r\n\r\n`)
      await eventually(() => received().includes('\r\n\r\n'))
      expect(received()).toMatch(/^HTTP\/1\.1 401 /)
      socket.destroy()
    }
  })
})

describe('pipelined requests on one connection', () => {
  test('past 16 the connection is reset, and work on its requests stops', async () => {
    const before = await countOf(/agentmsg_http_closed_total\{reason="pipelined",component="gateway"\}/)
    const answersBefore = await countOf(
      /agentmsg_http_requests_total\{operation="notFound",status="404",code="not_found",component="gateway"\}/,
    )
    const request = `GET /v2/x HTTP/1.1\r\nHost: ${AUTHORITY}\r\n\r\n`
    const connections = await Promise.all(Array.from({ length: 20 }, (_, at) => openConnection(`127.0.3.${at + 1}`)))
    for (const { socket } of connections) {
      socket.pause()
      socket.write(request.repeat(1_500))
    }
    const served = await isServed()
    for (const { socket } of connections) socket.resume()
    await Promise.all(connections.map(({ closed }) => closed))
    expect(served).toBe(true)
    expect(await countOf(/agentmsg_http_closed_total\{reason="pipelined",component="gateway"\}/)).toBe(before + 20)
    expect(
      await countOf(
        /agentmsg_http_requests_total\{operation="notFound",status="404",code="not_found",component="gateway"\}/,
      ),
    ).toBe(answersBefore)
  })

  test('16 are answered', async () => {
    const { socket, received } = await openConnection('127.0.3.100')
    socket.write(`GET /v2/x HTTP/1.1\r\nHost: ${AUTHORITY}\r\n\r\n`.repeat(16))
    await eventually(() => expect(received().match(/HTTP\/1\.1 404 /g)).toHaveLength(16))
    socket.destroy()
  })
})

describe('many headers', () => {
  test.each([
    [126, 401],
    [127, 400],
    [900, 400],
  ])('%d beside Host: %d', async (count, status) => {
    const { socket, received } = await openConnection('127.0.4.1')
    socket.write(head('POST', ...Array.from({ length: count }, (_, at) => `h${at}: v`)))
    await eventually(() => received().includes('\r\n\r\n'))
    expect(received().slice(0, 12)).toBe(`HTTP/1.1 ${status}`)
    socket.destroy()
  })

  test.runIf(canMeasureCpu)('an endless head keeps only few headers in memory', { timeout: 120_000 }, async () => {
    const unfinished = head('GET', ...Array.from({ length: 900 }, (_, at) => `h${at}: v`)).slice(0, -2)
    const sockets: Socket[] = []
    const open = async (count: number): Promise<number> => {
      for (let at = 0; at < count; at += 1) {
        const { socket } = await openConnection(`127.0.5.${(sockets.length % 200) + 1}`)
        socket.write(unfinished)
        sockets.push(socket)
      }
      expect(await isServed()).toBe(true)
      return gateway.residentBytes()
    }
    try {
      const few = await open(200)
      const many = await open(2_000)
      expect((many - few) / 2_000).toBeLessThan(32 * 1024)
    } finally {
      for (const socket of sockets) socket.destroy()
    }
  })
})
