/** Bytes on a connection that may be HTTP: each connection is answered or closed, and the gateway keeps working. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { call } from '../support/client/agent.ts'
import { openRaw, parseAnswers } from '../support/client/raw-http.ts'
import { untilAnswered } from '../support/client/retrying.ts'
import { eventually } from '../support/eventually.ts'
import { type SharedHarness, shareHarness } from '../support/system/harness.ts'
import { brokenBytes } from './broken.ts'
import { runsOf, TIMEOUT_MS } from './plan.ts'

const TOGETHER = 24
/** A gateway ends a connection if the client's headers do not arrive within 10 s, a little later on a busy machine. */
const LIMIT_MS = 40_000

let h: SharedHarness
beforeAll(async () => {
  h = await shareHarness('usual')
})
afterAll(() => h?.[Symbol.asyncDispose]())

test('spec 4.1: bytes that may be HTTP are answered in the same shape or closed, and never with a 5xx', {
  timeout: TIMEOUT_MS,
}, async () => {
  const host = new URL(h.place.url).host
  const requests = fc.constantFrom(
    `GET /v2/agents HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
    `POST /v2/challenges HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
    `POST /v2/challenges HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    `GET /v2/me HTTP/1.1\r\nHost: ${host}\r\nAuthorization: SVC x:y\r\nX-SVC-Timestamp: 1\r\nX-SVC-Nonce: ${'ab'.repeat(16)}\r\n\r\n`,
    `GET /v2/health HTTP/1.0\r\n\r\n`,
  )
  const pieces = fc.constantFrom(
    'Content-Length: 5\r\n',
    'Content-Length: -1\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Transfer-Encoding: gzip\r\n',
    'Expect: 100-continue\r\n',
    'Upgrade: websocket\r\nConnection: upgrade\r\n',
    'Host: other\r\n',
    'X: \0\r\n',
    ' folded\r\n',
    'Range: bytes=0-\r\n',
  )
  const whole = fc.oneof(
    requests,
    fc.tuple(requests, pieces).map(([request, piece]) => request.replace('\r\n', `\r\n${piece}`)),
    fc.tuple(requests, requests).map(([first, second]) => first.replace('Connection: close\r\n', '') + second),
  )
  const inputs = fc.oneof(
    whole.map((text) => Buffer.from(text, 'latin1')),
    brokenBytes(whole.map((text) => Buffer.from(text, 'latin1'))),
    fc.uint8Array({ minLength: 1, maxLength: 200 }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(inputs, { minLength: TOGETHER, maxLength: TOGETHER }), async (batch) => {
      const received = await Promise.all(batch.map(answerTo))
      for (const [at, text] of received.entries()) {
        const sent = Buffer.from(batch[at] ?? []).toString('latin1')
        expect({ sent, text: text === 'still open' ? text : '' }).toEqual({ sent, text: '' })
        for (const { status } of parseAnswers(text))
          expect({ sent, status: status < 500 }).toEqual({ sent, status: true })
      }
      expect((await untilAnswered(() => call(h.place, 'GET', '/v2/health'))).status).toBe(200)
    }),
    { ...runsOf('bytesOnTheWire', TOGETHER), endOnFailure: true },
  )
})

/** Retries after a 503, which a stalled service causes. A lasting 503 is a failure. */
function answerTo(bytes: Uint8Array): Promise<string> {
  return eventually(async () => {
    const text = await exchangeBytes(bytes)
    return (text === 'still open' || parseAnswers(text).every(({ status }) => status !== 503)) && text
  })
}

/**
 * Sends bytes, and nothing after them.
 * @returns everything received until the other end closed.
 */
async function exchangeBytes(bytes: Uint8Array): Promise<string> {
  using connection = openRaw(h.place.url)
  connection.socket.end(bytes)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve('still open'), LIMIT_MS)
  })
  try {
    return await Promise.race([connection.ended, late])
  } finally {
    clearTimeout(timer)
  }
}
