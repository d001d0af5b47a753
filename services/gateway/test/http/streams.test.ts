/** Streams with a stream process that sends nothing, or a client that reads nothing. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { StreamPlace } from '@svc/contracts/stream.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { describe, expect, test } from 'vitest'
import { createStreams } from '../../src/http/streams.ts'

const headOf = (cursors: string): string => `HTTP/1.1 200 OK\r\n${cursors}transfer-encoding: chunked\r\n\r\n`
const HEAD = headOf('x-svc-earliest-cursor: 1\r\nx-svc-latest-cursor: 4\r\n')
const SILENCE_SECONDS = 1

/** A minimal stream process. It passes the connection of each request for a stream to `greet`. */
async function startScene(greet: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const asked: string[] = []
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    socket.once('data', (chunk: Buffer) => {
      asked.push(chunk.toString('latin1').split(' ', 1)[0] ?? '')
      if (asked.at(-1) === 'DELETE') socket.end('HTTP/1.1 204 No Content\r\n\r\n')
      else greet(socket)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const place: StreamPlace = {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ticket: 't'.repeat(43),
    silence_seconds: SILENCE_SECONDS,
  }
  const bus = { call: async () => place } as unknown as Bus
  const streams = createStreams({ bus, logger: createLogger('test', 'silent') })
  return {
    streams,
    sockets,
    asked,
    open: (limitMs = 5_000) =>
      streams.open(
        { agent_id: '1'.repeat(43), after: 0 },
        { traceparent: newTraceparent(), deadlineMs: Date.now() + limitMs },
      ),
    async [Symbol.asyncDispose]() {
      await streams[Symbol.asyncDispose]()
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const chunkOf = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`

test('spec 9.6: the cursors of a stream', async () => {
  await using scene = await startScene((socket) => void socket.write(HEAD + chunkOf('retry: 1000\n\n')))
  const { bytes, ...opened } = await scene.open()
  expect(opened).toEqual({ earliest: '1', latest: '4' })
  bytes.on('error', () => {}).destroy()
})

describe('a stream process that is up but does not answer', () => {
  test('is abandoned within the timeout of the call', async () => {
    await using scene = await startScene(() => {})
    const beganMs = performance.now()
    await expect(scene.open(300)).rejects.toMatchObject({ code: 'unavailable' })
    expect(performance.now() - beganMs).toBeLessThan(10_000)
    await eventually(() => scene.sockets.size === 0)
  })

  test('that goes silent later: the client is cut off after the promised time, and reconnects', async () => {
    await using scene = await startScene((socket) => void socket.write(HEAD + chunkOf('retry: 1000\n\n')))
    const beganMs = performance.now()
    const { bytes } = await scene.open()
    let received = ''
    bytes.setEncoding('utf8').on('data', (text: string) => {
      received += text
    })
    await expect(once(bytes, 'end')).rejects.toThrow()
    expect(performance.now() - beganMs).toBeGreaterThan(SILENCE_SECONDS * 500)
    expect(performance.now() - beganMs).toBeLessThan(SILENCE_SECONDS * 1_000 + 15_000)
    expect(received).toBe('retry: 1000\n\n')
    await eventually(() => scene.sockets.size === 0)
  })
})

describe('bytes are forwarded as they arrive, but no faster than the client reads', () => {
  test('if a client does not read, the stream process waits, and the gateway buffers little', async () => {
    let written = 0
    await using scene = await startScene((socket) => {
      socket.write(HEAD)
      const pour = (): void => {
        if (socket.destroyed) return
        const text = chunkOf('x'.repeat(16_384))
        written += text.length
        if (socket.write(text)) setImmediate(pour)
        else socket.once('drain', pour)
      }
      pour()
    })
    const { bytes } = await scene.open()
    let before = -1
    await eventually(async () => {
      const stands = written === before
      before = written
      await new Promise((resolve) => setTimeout(resolve, 100))
      return stands
    })
    // Most of it is in the kernels on both sides.
    expect(written).toBeLessThan(16 * 1024 * 1024)
    expect(bytes.readableLength).toBeLessThan(1024 * 1024)
    // When the client reads on, the stream process writes on.
    bytes.resume()
    await eventually(() => written > before)
    bytes.on('error', () => {}).destroy()
  })

  test('if a client disconnects, its stream ends in the stream process', async () => {
    await using scene = await startScene((socket) => void socket.write(HEAD + chunkOf('retry: 1000\n\n')))
    const { bytes } = await scene.open()
    expect(scene.sockets.size).toBe(1)
    bytes.on('error', () => {}).destroy()
    await eventually(() => scene.sockets.size === 0)
  })
})

test('the gateway drains in time even if a stream process is silent', async () => {
  const scene = await startScene((socket) => void socket.write(HEAD + chunkOf('retry: 1000\n\n')))
  const { bytes } = await scene.open()
  bytes.on('error', () => {}).resume()
  const beganMs = performance.now()
  await scene[Symbol.asyncDispose]()
  expect(performance.now() - beganMs).toBeLessThan(15_000)
  expect(scene.asked).toEqual(['GET', 'DELETE'])
})
