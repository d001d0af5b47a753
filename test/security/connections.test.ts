/**
 * One client writes its requests so that they cost a gateway far more work than the client's rate allows. The gateway still
 * answers others.
 */
import type { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { canMeasureCpu } from '../tools/bench/process-cpu.ts'
import { type LoneGateway, startLoneGateway } from './lone-gateway.ts'
import { chunked, chunks, type Neighbours, openConnection, openNeighbours, request } from './raw-connection.ts'

let gateway: LoneGateway
beforeAll(async () => {
  gateway = await startLoneGateway('{}')
})
afterAll(() => gateway?.[Symbol.asyncDispose]())

/** Whether a well-behaved client is answered. */
async function isServed(): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${gateway.port}/openapi.json`)
  await answer.bytes()
  expect(answer.status).toBe(200)
  return true
}

const HEALTH = request('GET /v2/health')

let addresses = 0
/** Of an address that no other test has. */
function openNew(): Promise<Neighbours> {
  addresses += 1
  return openNeighbours(gateway.port, `127.0.2.${addresses}`)
}

describe('spec 3.20: neighbours behind one address lose nothing, whatever one of them sends; and it gets its answers', () => {
  const BODY = '{"pubkey":1}'
  const inBytes = (text: string, extension = ''): string =>
    `${[...text].map((character) => chunks(1, character, extension)).join('')}0\r\n\r\n`

  test.each([
    ['18 requests in one packet', HEALTH.repeat(18), Array(18).fill('503')],
    ['1,000 requests in one packet', request('GET /v2/x').repeat(1_000), 1_000],
    [
      'a pipeline of HEAD and OPTIONS',
      (request('HEAD /v2/x') + request('OPTIONS /v2/x')).repeat(40),
      Array(80).fill('404'),
    ],
    ['a body in one-byte chunks', chunked('/v2/challenges') + inBytes(BODY), ['400']],
    [
      'a body in one-byte chunks, up to its limit',
      `${chunked('/v2/messages')}${chunks(96 * 1024, 'x')}0\r\n\r\n`,
      ['401'],
    ],
    ['a body in one-byte chunks, over its limit', chunked('/v2/messages') + chunks(96 * 1024 + 1, 'x'), ['413']],
    ['chunks with extensions', chunked('/v2/challenges') + inBytes(BODY, `;a="${'e'.repeat(100)}"`), ['400']],
    ['a request, then what is no HTTP', `${request('GET /v2/x')}nonsense\r\n\r\n`, ['404', '400']],
    [
      'requests, then CONNECT',
      `${request('GET /v2/x').repeat(20)}${request('CONNECT x:1')}`,
      [...Array(20).fill('404'), '404'],
    ],
  ])('%s', async (_, bytes, expected) => {
    await using neighbours = await openNew()
    const { socket, statuses, closed } = neighbours.misused
    expect(await neighbours.isServed()).toBe(true)
    socket.write(bytes)
    const count = typeof expected === 'number' ? expected : expected.length
    while (statuses.length < count && !socket.closed) expect(await neighbours.isServed()).toBe(true)
    if (typeof expected === 'number') expect(statuses).toHaveLength(expected)
    else expect(statuses).toEqual(expected)
    expect(await neighbours.isServed()).toBe(true)
    socket.destroy()
    await closed
  })

  test('many connections with much each: others are answered meanwhile, and each gets all of its answers', async () => {
    const before = await gateway.measure(/agentmsg_http_closed_total\{reason="pipelined",component="gateway"\}/)
    await using neighbours = await openNew()
    const connections = await Promise.all(
      Array.from({ length: 20 }, () => openConnection(gateway.port, neighbours.address)),
    )
    connections.forEach(({ socket }, at) => {
      socket.write(
        at % 2 === 0 ? request('GET /v2/x').repeat(100) : `${chunked('/v2/x')}${chunks(5_000, 'x')}0\r\n\r\n`,
      )
    })
    expect(await isServed()).toBe(true)
    const isDone = (): boolean => connections.every(({ statuses }, at) => statuses.length === (at % 2 === 0 ? 100 : 1))
    while (!isDone()) expect(await neighbours.isServed()).toBe(true)
    expect(await gateway.measure(/agentmsg_http_closed_total\{reason="pipelined",component="gateway"\}/)).toBe(before)
    for (const { socket } of connections) socket.destroy()
  })
})

test('too many waiting requests: the connections that have most of them are closed, and no others', async () => {
  const [small, ...large] = await Promise.all(
    Array.from({ length: 13 }, () => openConnection(gateway.port, '127.0.3.1')),
  )
  small?.socket.write(request('GET /v2/x').repeat(100))
  for (const { socket } of large) socket.write('GET / HTTP/1.1\r\n\r\n'.repeat(3_000))
  await Promise.race(large.map(({ closed }) => closed))
  await eventually(() => small?.statuses.length === 100)
  for (const { socket } of large) socket.destroy()
})

describe('many headers', () => {
  test.each([
    [126, 401],
    [127, 400],
    [900, 400],
  ])('%d beside Host: %d', async (count, status) => {
    const { socket, received } = await openConnection(gateway.port, '127.0.4.1')
    socket.write(request('POST /v2/messages', ...Array.from({ length: count }, (_, at) => `h${at}: v`)))
    await eventually(() => received().includes('\r\n\r\n'))
    expect(received().slice(0, 12)).toBe(`HTTP/1.1 ${status}`)
    socket.destroy()
  })

  test.runIf(canMeasureCpu)('an endless head keeps only few headers in memory', { timeout: 120_000 }, async () => {
    const unfinished = request('GET /v2/messages', ...Array.from({ length: 900 }, (_, at) => `h${at}: v`)).slice(0, -2)
    const sockets: Socket[] = []
    const open = async (count: number): Promise<number> => {
      for (let at = 0; at < count; at += 1) {
        const { socket } = await openConnection(gateway.port, `127.0.5.${(sockets.length % 200) + 1}`)
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
