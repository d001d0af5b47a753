import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import { eventually } from '@svc/test/support/eventually.ts'
import { startReceiver, type WebhookReceiver } from '@svc/test/support/stand-ins/webhook-receiver.ts'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { post } from '../src/post.ts'
import { parseWebhookUrl } from '../src/webhook-url.ts'

let receiver: WebhookReceiver
beforeAll(async () => {
  receiver = await startReceiver({ names: ['receiver.test'] })
})
afterAll(() => receiver[Symbol.asyncDispose]())
afterEach(() => vi.unstubAllEnvs())

const LOOPBACK = ['127.0.0.1']

function send(url: string, { addresses = LOOPBACK, timeoutMs = 5_000, body = '{}' } = {}): Promise<number> {
  const target = parseWebhookUrl(url, new Set([new URL(url).host]))
  return post({ target, addresses, headers: { 'content-type': 'application/json' }, body, timeoutMs })
}

function at(host: string, path: string): string {
  return `https://${host}:${receiver.port}${path}`
}

describe('spec 10.6: the connection goes to a checked address', () => {
  test('connects to the checked address without a second lookup; SNI and certificate use the name', async () => {
    // No resolver knows this name, so only the given address can have led here.
    expect(await send(at('receiver.test', '/pinned'))).toBe(204)
    expect(receiver.at('/pinned')[0]).toMatchObject({ servername: 'receiver.test', method: 'POST' })
    expect(receiver.at('/pinned')[0]?.headers.host).toBe(`receiver.test:${receiver.port}`)
  })

  test('a certificate for another name is refused, although the address is right', async () => {
    await expect(send(at('other.test', '/other'))).rejects.toThrow()
    await expect(send(at('localhost', '/other'))).rejects.toThrow()
    expect(receiver.at('/other')).toHaveLength(0)
  })

  test('a certificate of an unknown authority is refused', async () => {
    await using stranger = await startReceiver({ names: ['receiver.test'], trusted: false })
    await expect(send(`https://receiver.test:${stranger.port}/`)).rejects.toThrow()
    expect(stranger.received).toHaveLength(0)
  })

  test.each(['receiver.test.', 'RECEIVER.test', 'Receiver.Test.'])(
    'server name, certificate and Host of %s have no trailing dot and no capitals',
    async (host) => {
      const path = `/spelled-${host}`
      expect(await send(at(host, path))).toBe(204)
      expect(receiver.at(path)[0]).toMatchObject({
        servername: 'receiver.test',
        headers: { host: `receiver.test:${receiver.port}` },
      })
    },
  )

  test('a name in punycode is verified, also against a wildcard', async () => {
    await using idn = await startReceiver({ names: ['xn--bcher-kva.test', '*.wild.test'] })
    for (const host of ['xn--bcher-kva.test', 'XN--Bcher-KVA.test.', 'xn--bcher-kva.wild.test'])
      expect(await send(`https://${host}:${idn.port}/`)).toBe(204)
    await expect(send(`https://xn--bcher-kvb.test:${idn.port}/`)).rejects.toThrow('for another host')
  })

  test('if the first address is dead, the next one is tried, and no address that was not given', async () => {
    // 127.0.0.2 is loopback too, but nothing listens on it.
    expect(await send(at('receiver.test', '/second'), { addresses: ['127.0.0.2', '127.0.0.1'] })).toBe(204)
    await expect(send(at('receiver.test', '/none'), { addresses: ['127.0.0.2'] })).rejects.toThrow('refused: ')
  })

  test('addresses that accept a connection and say nothing, or speak no TLS, do not use up the attempt', async () => {
    const silent = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5']
    const opened: Socket[] = []
    await using _silent = await startPlain((socket) => void opened.push(socket.resume()), {
      hosts: silent,
      port: receiver.port,
    })
    await using _plain = await startPlain((socket) => void socket.end('HTTP/1.1 200 OK\r\n\r\n'), {
      hosts: ['127.0.0.6'],
      port: receiver.port,
    })
    expect(await send(at('receiver.test', '/last'), { addresses: [...silent, '127.0.0.6', ...LOOPBACK] })).toBe(204)
    expect(receiver.at('/last')).toHaveLength(1)
    await eventually(() => opened.length === 4 && opened.every((socket) => socket.destroyed))
  })

  test('a certificate that fits on no address is the reason, even if another address is refused', async () => {
    await expect(send(at('other.test', '/'), { addresses: ['127.0.0.1', '127.0.0.2'] })).rejects.toThrow(
      'tls: the certificate is for another host',
    )
  })
})

describe('spec 10.5: path and query arrive as they were configured', () => {
  test.each(['/x/%2e/y', '/./a/../b', '//a//b', '/%2E%2E/%2f', "/'?q='x'", '/?', '/a?b?c=%zz&', '/@:80?@'])(
    '%s',
    async (path) => {
      await send(at('receiver.test', path))
      expect(receiver.received.at(-1)?.path).toBe(path)
    },
  )
})

describe('spec 10.6: things that a delivery does not do', () => {
  test('redirects are answers, and not followed', async () => {
    receiver.answer('/away', (_request, response) =>
      response.writeHead(307, { location: at('receiver.test', '/target') }).end(),
    )
    expect(await send(at('receiver.test', '/away'))).toBe(307)
    expect(receiver.at('/target')).toHaveLength(0)
  })

  test('proxies of the environment are not used', async () => {
    const asked: unknown[] = []
    await using proxy = await startPlain((socket) => {
      asked.push(socket)
      socket.destroy()
    })
    for (const name of ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'ALL_PROXY', 'all_proxy']) {
      vi.stubEnv(name, `http://127.0.0.1:${proxy.port}`)
    }
    vi.stubEnv('NODE_USE_ENV_PROXY', '1')
    expect(await send(at('receiver.test', '/direct'))).toBe(204)
    expect(asked).toHaveLength(0)
  })

  test('no variable of the environment turns the check of the certificate off', async () => {
    await using stranger = await startReceiver({ names: ['receiver.test'], trusted: false })
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    await expect(send(`https://receiver.test:${stranger.port}/`)).rejects.toThrow('tls: the certificate is self-signed')
    await expect(send(at('other.test', '/'))).rejects.toThrow('tls: the certificate is for another host')
    expect(stranger.received).toHaveLength(0)
  })

  test('two deliveries are two connections', async () => {
    await send(at('receiver.test', '/apart'))
    await send(at('receiver.test', '/apart'))
    const connections = receiver.at('/apart').map(({ connection }) => connection)
    expect(new Set(connections).size).toBe(2)
    expect(receiver.at('/apart')[0]?.headers.connection).toBe('close')
  })
})

describe('spec 10.7: times and sizes', () => {
  test.each<[string, string, (socket: Socket) => void]>([
    ['takes the connection and says nothing', 'timeout: the host accepted a connection, but did not', () => {}],
    ['does not speak TLS', 'tls: ', (socket) => void socket.write('HTTP/1.1 204 No Content\r\n\r\n')],
    ['hangs up', 'tls: the connection was closed during the handshake', (socket) => void socket.destroy()],
  ])('a peer that %s: an error that says %s, within the time', async (_, words, greet) => {
    await using server = await startPlain(greet)
    const startedMs = performance.now()
    await expect(send(`https://receiver.test:${server.port}/`, { timeoutMs: 300 })).rejects.toThrow(words)
    expect(performance.now() - startedMs).toBeLessThan(5_000)
  })

  test.each<[string, string, (socket: Socket) => void]>([
    ['hangs up after the request', 'closed: the connection ended', (socket) => void socket.end()],
    ['answers in another protocol', 'answer not understood', (socket) => void socket.end('220 mail.test ESMTP\r\n')],
  ])('a peer that %s: an error that says %s', async (_, words, answer) => {
    await using server = await startTls((socket) => void socket.once('data', () => answer(socket)))
    await expect(send(`https://receiver.test:${server.port}/`)).rejects.toThrow(words)
  })

  test('an answer that does not begin in time is an error', async () => {
    receiver.answer('/never', () => {})
    await expect(send(at('receiver.test', '/never'), { timeoutMs: 300 })).rejects.toThrow(
      'timeout: the endpoint did not answer the request',
    )
  })

  test('an answer that drips is cut off by the timeout; its status counts', async () => {
    receiver.answer('/drips', (_request, response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write('.'), 20)
      response.on('close', () => clearInterval(timer))
    })
    const startedMs = performance.now()
    // Long enough for the handshake and the status, even on a busy machine.
    expect(await send(at('receiver.test', '/drips'), { timeoutMs: 2_000 })).toBe(200)
    expect(performance.now() - startedMs).toBeLessThan(10_000)
  })

  test('endless headers are refused', async () => {
    receiver.answer('/headers', (_request, response) => {
      response.writeHead(200, { 'x-long': 'a'.repeat(200_000) }).end()
    })
    await expect(send(at('receiver.test', '/headers'))).rejects.toThrow('answer too large')
  })

  test('about 64 KiB of a long answer are read, and the connection ends', async () => {
    let written = 0
    let ended = false
    receiver.answer('/long', (_request, response) => {
      response.writeHead(200)
      response.on('close', () => {
        ended = true
      })
      const pour = (): void => {
        if (ended) return
        written += 16_384
        response.write(Buffer.alloc(16_384), pour)
      }
      pour()
    })
    expect(await send(at('receiver.test', '/long'))).toBe(200)
    await eventually(() => ended)
    // Includes the buffers of the kernels on both sides.
    expect(written).toBeLessThan(16 * 1024 * 1024)
  })

  test.each([
    ['informational answers', '', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(500)],
    ['extensions of a chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;x=', 'x'.repeat(16_384)],
  ])('endless %s are read only until the timeout', async (_, beginning, more) => {
    let written = 0
    await using server = await startTls((socket) => {
      socket.once('data', () => {
        const pour = (text: string): void => {
          if (socket.destroyed) return
          written += text.length
          if (socket.write(text)) setImmediate(pour, more)
          else socket.once('drain', () => pour(more))
        }
        pour(beginning)
      })
    })
    const startedMs = performance.now()
    await send(`https://receiver.test:${server.port}/`, { timeoutMs: 10_000 }).catch(() => {})
    expect(performance.now() - startedMs).toBeLessThan(5_000)
    await eventually(() => server.open() === 0)
    // Includes the buffers of the kernels on both sides.
    expect(written).toBeLessThan(16 * 1024 * 1024)
  })

  test('a peer that accepts the connection but does not read a large request: an error within the timeout, and nothing is left open', async () => {
    await using server = await startTls((socket) => void socket.pause())
    const startedMs = performance.now()
    const body = JSON.stringify('x'.repeat(96 * 1024))
    await expect(send(`https://receiver.test:${server.port}/`, { timeoutMs: 300, body })).rejects.toThrow()
    expect(performance.now() - startedMs).toBeLessThan(5_000)
  })

  test('a peer that wants key exchange in a finite field, of any size, is refused', async () => {
    await using rsa = await startReceiver({ names: ['receiver.test'], keyType: 'rsa' })
    const options = { maxVersion: 'TLSv1.2', dhparam: 'auto', ...rsa.credentials } as const
    const answer = (socket: Socket) => void socket.end('HTTP/1.1 204 No Content\r\n\r\n')
    await using curve = await startTls(answer, { ...options, ciphers: 'ECDHE-RSA-AES128-GCM-SHA256' })
    expect(await send(`https://receiver.test:${curve.port}/`)).toBe(204)
    await using field = await startTls(answer, { ...options, ciphers: 'DHE-RSA-AES128-GCM-SHA256' })
    await expect(send(`https://receiver.test:${field.port}/`)).rejects.toThrow('tls: the handshake failed')
  })

  test('a body of 96 KiB arrives unchanged', async () => {
    const body = JSON.stringify('ü'.repeat(48_000))
    expect(await send(at('receiver.test', '/large'), { body })).toBe(204)
    expect(receiver.at('/large')[0]?.body.toString('utf8')).toBe(body)
  })
})

/** A TLS server that has only the receiver's certificate. */
async function startTls(
  greet: (socket: Socket) => void,
  options: TlsOptions = {},
): Promise<AsyncDisposable & { port: number; open: () => number }> {
  const sockets = new Set<Socket>()
  const server = createTlsServer({ ...receiver.credentials, ...options }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    greet(socket)
  })
  server.on('tlsClientError', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    open: () => sockets.size,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function startPlain(
  greet: (socket: Socket) => void,
  { hosts = LOOPBACK, port = 0 } = {},
): Promise<AsyncDisposable & { port: number }> {
  const sockets = new Set<Socket>()
  const servers = hosts.map(() =>
    createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      greet(socket)
    }),
  )
  await Promise.all(servers.map((server, at) => once(server.listen(port, hosts[at]), 'listening')))
  return {
    port: servers.map((server) => (server.address() as AddressInfo).port)[0] ?? 0,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await Promise.all(servers.map((server) => once(server.close(), 'close')))
    },
  }
}
