/** Tests the proxy itself, because its bugs would look like bugs of the system. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import type { Direction } from './joined.ts'
import { type Link, startLink } from './link.ts'

/** Long enough for everything to arrive that is not held. */
const QUIET_MS = 60

let stack: AsyncDisposableStack
let link: Link
let url: string
let accepted: Socket[]

beforeEach(async () => {
  stack = new AsyncDisposableStack()
  accepted = []
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    accepted.push(socket.on('error', () => {}))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  stack.defer(() => {
    for (const socket of accepted) socket.destroy()
    server.close()
  })
  link = stack.use(await startLink())
  url = link.through(`tcp://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
afterEach(() => stack.disposeAsync())

interface End {
  readonly socket: Socket
  /** Everything received so far. */
  readonly received: Buffer
  state: 'open' | 'ended' | 'closed' | 'reset'
}

function watch(socket: Socket): End {
  const chunks: Buffer[] = []
  const end: End = {
    socket,
    get received() {
      return Buffer.concat(chunks)
    },
    state: 'open',
  }
  socket.on('data', (bytes) => chunks.push(bytes as Buffer))
  socket.on('end', () => {
    end.state = 'ended'
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ECONNRESET') end.state = 'reset'
  })
  socket.on('close', () => {
    if (end.state !== 'reset') end.state = 'closed'
  })
  return end
}

/** A connection through the link, and both of its ends. */
async function open(): Promise<{ client: End; server: End }> {
  const before = accepted.length
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true })
  stack.defer(() => void socket.destroy())
  const client = watch(socket)
  const server = await eventually(() => accepted[before] ?? false)
  return { client, server: watch(server) }
}

async function say(from: End, to: End, text: string): Promise<void> {
  from.socket.write(text)
  await eventually(() => to.received.toString().endsWith(text))
}

test('all bytes of both directions arrive unchanged', async () => {
  const { client, server } = await open()
  const [there, back] = [randomBytes(3_000_000), randomBytes(2_000_000)]
  client.socket.end(there)
  server.socket.end(back)
  await eventually(() => client.state !== 'open' && server.state !== 'open')
  expect(server.received.equals(there)).toBe(true)
  expect(client.received.equals(back)).toBe(true)
  await eventually(() => link.connections.size === 0)
})

test('the end of one direction leaves the other direction open', async () => {
  const { client, server } = await open()
  client.socket.end('last')
  await eventually(() => server.state === 'ended')
  await say(server, client, 'still')
  expect(client.state).toBe('open')
})

test('a reset reaches both ends, and new connections are accepted', async () => {
  const { client, server } = await open()
  link.reset()
  await eventually(() => client.state === 'reset' && server.state === 'reset')
  const next = await open()
  await say(next.client, next.server, 'again')
})

test('a reset of one end resets the other', async () => {
  const { client, server } = await open()
  server.socket.resetAndDestroy()
  await eventually(() => client.state === 'reset')
})

test('cut: connections are reset and new ones refused, until it is healed', async () => {
  const { client, server } = await open()
  await link.cut()
  await eventually(() => client.state === 'reset' && server.state === 'reset')
  const [error] = await once(connect(Number(new URL(url).port), '127.0.0.1'), 'error')
  expect(error.code).toBe('ECONNREFUSED')
  await link.heal()
  const next = await open()
  await say(next.client, next.server, 'again')
})

test('if the server does not listen, connections through the link fail', async () => {
  const other = stack.use(await startLink())
  const nowhere = other.through('tcp://127.0.0.1:1')
  const client = watch(connect(Number(new URL(nowhere).port), '127.0.0.1'))
  await eventually(() => client.state === 'reset')
})

describe('hold', () => {
  const directions: Direction[] = ['to-server', 'to-client', 'both']

  test.each(directions)(
    '%s: nothing arrives and nothing is closed; after heal everything arrives',
    async (direction) => {
      const { client, server } = await open()
      await say(client, server, 'a')
      link.hold(direction)
      client.socket.write('b')
      server.socket.write('c')
      const [there, back] = [direction === 'to-client' ? 'ab' : 'a', direction === 'to-server' ? 'c' : '']
      await eventually(() => server.received.toString() === there && client.received.toString() === back)
      await sleep(QUIET_MS)
      expect([server.received.toString(), client.received.toString()]).toEqual([there, back])
      expect([client.state, server.state]).toEqual(['open', 'open'])
      await link.heal()
      await eventually(() => server.received.toString() === 'ab' && client.received.toString() === 'c')
      expect([client.state, server.state]).toEqual(['open', 'open'])
    },
  )

  test('the other side does not notice the end of one side: the connection is half open', async () => {
    const { client, server } = await open()
    link.hold()
    client.socket.resetAndDestroy()
    await sleep(QUIET_MS)
    expect(server.state).toBe('open')
    await link.heal()
    await eventually(() => server.state === 'reset')
  })

  test('new connections are held as well', async () => {
    link.hold()
    const { client, server } = await open()
    client.socket.write('a')
    await sleep(QUIET_MS)
    expect(server.received.length).toBe(0)
    await link.heal()
    await eventually(() => server.received.toString() === 'a')
  })

  test('hold of one connection does not affect others of the same link', async () => {
    const first = await open()
    const [held] = link.connections
    const second = await open()
    held?.hold()
    first.client.socket.write('a')
    await say(second.client, second.server, 'b')
    await sleep(QUIET_MS)
    expect(first.server.received.length).toBe(0)
    held?.heal()
    await eventually(() => first.server.received.toString() === 'a')
  })

  test('the sender keeps the bytes that are held: the link stores none', async () => {
    const { client, server } = await open()
    link.hold()
    const many = randomBytes(32_000_000)
    client.socket.write(many)
    await sleep(QUIET_MS)
    expect(client.socket.writableLength).toBeGreaterThan(0)
    await link.heal()
    await eventually(() => server.received.length === many.length)
    expect(server.received.equals(many)).toBe(true)
  })
})

const DELAY_MS = 500
/** More than any test needs. */
const NEVER_MS = 600_000

test('delay: everything arrives later, in order, and so does the end', async () => {
  const { client, server } = await open()
  link.delay(DELAY_MS, 'to-server')
  const begun = performance.now()
  for (const text of ['a', 'b', 'c']) client.socket.write(text)
  client.socket.end('d')
  await eventually(() => server.state === 'ended')
  expect(performance.now() - begun).toBeGreaterThanOrEqual(DELAY_MS - 1)
  expect(server.received.toString()).toBe('abcd')
  // The other direction is not delayed.
  const other = await open()
  link.delay(NEVER_MS, 'to-server')
  other.client.socket.write('a')
  await say(other.server, other.client, 'back')
  expect(other.server.received.length).toBe(0)
  await link.heal()
  await eventually(() => other.server.received.toString() === 'a')
})
