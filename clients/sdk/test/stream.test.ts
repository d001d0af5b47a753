import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AgentClient } from '@svc/sdk/client.ts'
import { ApiError, EventGapError, NetworkError } from '@svc/sdk/errors.ts'
import { generateKey } from '@svc/sdk/keys.ts'
import { afterEach, describe, expect, test } from 'vitest'

type Script = (response: ServerResponse, request: IncomingMessage) => void

const cleanups: (() => void)[] = []
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup()
})

/** A service that answers the n-th request with the n-th script, and all further requests with the last one. */
async function startService(...scripts: Script[]) {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    scripts[Math.min(requests.length, scripts.length) - 1]?.(response, request)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const retry = { baseDelayMs: 5, maxDelayMs: 20 }
  const client = new AgentClient({ url, key: generateKey(), authority: 'agents.test', retry })
  /** Skips its waits, and records them. */
  const waits: number[] = []
  const hasty = new AgentClient(
    { url, key: generateKey(), authority: 'agents.test', retry },
    { sleep: async (ms) => void waits.push(ms) },
  )
  return { client, hasty, waits, requests, targets: () => requests.map((request) => request.url) }
}

const head = (response: ServerResponse, earliest = 1, cursors = {}): void => {
  const headers = { 'content-type': 'text/event-stream', 'x-svc-earliest-cursor': String(earliest), ...cursors }
  response.writeHead(200, headers)
  response.write('retry: 1000\n\n')
}
const event = (cursor: number) => {
  const envelope = {
    id: `message-${cursor}`,
    from: 'a',
    to: 'b',
    type: 'event',
    ts: '2026-01-01T00:00:00Z',
    body: 1,
    sig: 's',
  }
  const message = { envelope, lane: 'inbox', created_at: 1, expires_at: 2, acked: false, upvotes: 0 }
  return `event: message\nid: ${cursor}\ndata: ${JSON.stringify({ cursor, kind: 'inbox', message })}\n\n`
}
const cursorFrame = (cursor: number) => `event: cursor\nid: ${cursor}\ndata: {"cursor":${cursor}}\n\n`

/** Sends these events, then ends as `end` says. */
const gives =
  (cursors: number[], end: 'ends' | 'breaks' | 'stays' = 'stays', earliest = 1): Script =>
  (response) => {
    head(response, earliest)
    response.write(cursors.map(event).join(''), () => {
      if (end === 'ends') response.end(cursorFrame(cursors.at(-1) ?? 0))
      else if (end === 'breaks') setTimeout(() => response.destroy(), 20)
    })
  }
const refuses =
  (status: number, code: string): Script =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' })
    response.end(JSON.stringify({ error: { code, message: code } }))
  }

async function take(stream: AsyncIterable<{ cursor: number }>, count: number): Promise<number[]> {
  const cursors: number[] = []
  for await (const { cursor } of stream) {
    cursors.push(cursor)
    if (cursors.length === count) break
  }
  return cursors
}

describe('spec 13.4: stream() reconnects by itself', () => {
  test.each(['ends', 'breaks'] as const)(
    'when a connection %s: after the last event, with a fresh signature',
    async (end) => {
      const service = await startService(gives([1, 2], end), gives([3], end), gives([4]))
      expect(await take(service.client.stream(), 4)).toEqual([1, 2, 3, 4])
      expect(service.targets()).toEqual(['/v2/stream', '/v2/stream?after=2', '/v2/stream?after=3'])
      const nonces = service.requests.map(({ headers }) => headers['x-svc-nonce'])
      expect(new Set(nonces).size).toBe(3)
    },
  )

  test('repeated events are skipped', async () => {
    const service = await startService(gives([1, 2, 2, 1, 3], 'breaks'), gives([2, 3, 4]))
    expect(await take(service.client.stream(), 4)).toEqual([1, 2, 3, 4])
  })

  test('a cursor frame advances the position past skipped events, and calls onCursor', async () => {
    const told: number[] = []
    const skips: Script = (response) => {
      head(response)
      response.end(event(1) + cursorFrame(7))
    }
    const service = await startService(skips, gives([8]))
    expect(await take(service.client.stream({ onCursor: (cursor) => told.push(cursor) }), 2)).toEqual([1, 8])
    expect(told).toEqual([7])
    expect(service.targets()).toEqual(['/v2/stream', '/v2/stream?after=7'])
  })

  test.each([
    [503, 'unavailable'],
    [429, 'stream_limit'],
    [429, 'stream_capacity'],
    [429, 'rate_limited'],
  ])('%d %s is retried more often than a call would retry', async (status, code) => {
    const failures: unknown[] = []
    const service = await startService(gives([1], 'breaks'), ...Array(9).fill(refuses(status, code)), gives([2]))
    const stream = service.client.stream({ onRetry: (failure) => failures.push(failure) })
    expect(await take(stream, 2)).toEqual([1, 2])
    expect(failures[0]).toBeInstanceOf(NetworkError)
    expect(failures.slice(1).map((failure) => (failure as ApiError).code)).toEqual(Array(9).fill(code))
  })

  test('when a connection falls silent', async () => {
    // Answers by the requested cursor, not by the number of the request, because on a busy machine a connection may seem
    // silent before its first event.
    const service = await startService((response, request) =>
      gives([request.url?.endsWith('after=1') ? 2 : 1])(response, request),
    )
    expect(await take(service.client.stream({ silenceMs: 100 }), 2)).toEqual([1, 2])
  })

  test('an event may arrive in pieces', async () => {
    const pieces: Script = (response) => {
      head(response)
      const bytes = Buffer.from(event(1).replace('"body":1', '"body":"ä€😀"'))
      let at = 0
      const timer = setInterval(() => {
        response.write(bytes.subarray(at, at + 40))
        at += 40
        if (at >= bytes.length) clearInterval(timer)
      }, 1)
    }
    const service = await startService(pieces)
    for await (const { message } of service.client.stream()) {
      expect(message.envelope).toMatchObject({ body: 'ä€😀' })
      break
    }
  })
})

describe('spec 13.4: EventGapError if the earliest cursor is past the next event', () => {
  test('at once, if the stream began after a cursor', async () => {
    const service = await startService(gives([9], 'stays', 9))
    const failure = await take(service.client.stream({ after: 5 }), 1).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(EventGapError)
    expect(failure).toMatchObject({ after: 5, earliest: 9 })
    // The documented way to continue.
    expect(await take(service.client.stream({ after: 8 }), 1)).toEqual([9])
  })

  test('after a reconnect, if the missed events are gone', async () => {
    const service = await startService(gives([1, 2], 'breaks'), gives([7], 'stays', 6))
    const failure = await take(service.client.stream(), 3).catch((error: unknown) => error)
    expect(failure).toMatchObject({ name: 'EventGapError', after: 2, earliest: 6 })
  })

  test.each([0, undefined])('not for after %s, which asks for everything that is kept', async (after) => {
    const service = await startService(gives([6], 'stays', 6))
    expect(await take(service.client.stream({ after }), 1)).toEqual([6])
  })
})

describe('spec 9.6: the end of the log', () => {
  /** A page without events, for a request after the last cursor. */
  const ends =
    (cursor: number): Script =>
    (response, request) => {
      const after = Number(new URL(request.url ?? '', 'http://x').searchParams.get('after'))
      response.writeHead(200, { 'content-type': 'application/json', 'x-svc-latest-cursor': String(cursor) })
      response.end(JSON.stringify({ events: [], next_cursor: after, retention_days: 30 }))
    }

  test("after 'end' yields only new events, and a reconnect continues after the last event, not at the new end", async () => {
    const service = await startService(ends(7), gives([8], 'breaks'), gives([9]))
    expect(await take(service.client.stream({ after: 'end' }), 2)).toEqual([8, 9])
    expect(service.targets().slice(1)).toEqual(['/v2/stream?after=7', '/v2/stream?after=8'])
  })

  test('a stream that broke before its first event continues at the end that it began with', async () => {
    const service = await startService(ends(7), gives([], 'breaks'), gives([8]))
    expect(await take(service.client.stream({ after: 'end' }), 1)).toEqual([8])
    expect(service.targets().slice(1)).toEqual(['/v2/stream?after=7', '/v2/stream?after=7'])
  })

  test('onOpen gets the first and last cursor of the log, as far as the service announces them', async () => {
    const told: unknown[] = []
    const says: Script = (response) => {
      head(response, 1, { 'x-svc-latest-cursor': '4' })
      response.end(event(1))
    }
    const service = await startService(says, gives([2]))
    await take(service.client.stream({ onOpen: (at) => told.push(at) }), 2)
    expect(told).toEqual([
      { earliest: 1, latest: 4 },
      { earliest: 1, latest: undefined },
    ])
  })
})

describe('spec 13.2: a reconnect waits for Retry-After, whoever asks for it', () => {
  const page =
    (status: number, retryAfter: string): Script =>
    (response) => {
      const date = 'Thu, 01 Jan 2026 12:00:00 GMT'
      response.writeHead(status, { date, 'content-type': 'text/html', 'retry-after': retryAfter })
      response.end('<html>')
    }
  test.each([
    [429, '20', 20],
    [502, '20', 20],
    [503, 'Thu, 01 Jan 2026 12:00:20 GMT', 20],
    [504, '120', 120],
    [503, '9'.repeat(30), 3_600],
    [503, 'Fri, 31 Dec 9999 23:59:59 GMT', 3_600],
  ])("a proxy's %i with %s", async (status, value, seconds) => {
    const { hasty, waits } = await startService(gives([1], 'ends'), page(status, value), gives([2]))
    expect(await take(hasty.stream(), 2)).toEqual([1, 2])
    const wait = waits.at(-1)
    expect(wait).toBeGreaterThanOrEqual(seconds * 1_000)
    expect(wait).toBeLessThan((seconds + 1) * 1_000)
  })

  test('a stream that was never connected does not wait for longer than a call', async () => {
    const { hasty, waits } = await startService(page(503, '120'))
    await expect(take(hasty.stream(), 1)).rejects.toMatchObject({ status: 503, retryAfterSeconds: 120 })
    expect(waits).toEqual([])
  })
})

describe('a stream ends', () => {
  test('with a refusal that a retry cannot change', async () => {
    const service = await startService(gives([1], 'breaks'), refuses(401, 'signer_revoked'))
    const failure = await take(service.client.stream(), 2).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(ApiError)
    expect(failure).toMatchObject({ code: 'signer_revoked' })
  })

  test('after the attempts of a call if the service was never reached', async () => {
    const service = await startService(refuses(503, 'unavailable'))
    await expect(take(service.client.stream(), 1)).rejects.toMatchObject({ code: 'unavailable' })
    expect(service.requests).toHaveLength(6)
  })

  test('when its signal is aborted while it waits for an event', async () => {
    const service = await startService(gives([1]))
    const stop = new AbortController()
    const reading = (async () => {
      for await (const _ of service.client.stream({ signal: stop.signal })) setTimeout(() => stop.abort('enough'), 20)
    })()
    await expect(reading).rejects.toBe('enough')
  })

  test('when the loop is left, and closes its connection', async () => {
    const closed = Promise.withResolvers<void>()
    const service = await startService((response, request) => {
      request.socket.once('close', () => closed.resolve())
      gives([1])(response, request)
    })
    expect(await take(service.client.stream(), 1)).toEqual([1])
    await closed.promise
  })

  test('with AnswerError if the answer is not a stream of this API', async () => {
    const wrong: Script = (response) => {
      head(response)
      response.write('event: message\nid: 1\ndata: {"cursor":"1"}\n\n')
    }
    const service = await startService(wrong)
    await expect(take(service.client.stream(), 1)).rejects.toMatchObject({ name: 'AnswerError' })
  })
})

test('an invalid cursor is a TypeError', async () => {
  const service = await startService(gives([1]))
  await expect(take(service.client.stream({ after: -1 }), 1)).rejects.toBeInstanceOf(TypeError)
})
