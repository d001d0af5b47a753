import { createHmac, randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { WebhookError, type WebhookHeaders } from './webhook-claim.ts'
import { createWebhookHandler, verifyWebhook, type WebhookHandlerOptions } from './webhook-receiver.ts'

const SECRET = 'ü'.repeat(32)
const NOW_MS = 1_767_268_800_000
const nowMs = (): number => NOW_MS

interface Request {
  body: string
  headers: Record<string, string | string[] | undefined>
}

function requestOf(
  id: string,
  { timestamp = NOW_MS / 1000, secret = SECRET, deliveryId = `d-${id}`, to = 'b@x' } = {},
): Request {
  const body = `{"id":"${id}","from":"a","to":"${to}","type":"event","ts":"2026-01-01T12:00:00Z","body":1.0,"sig":"ü"}`
  const signature = createHmac('sha256', secret).update(`${timestamp}.${id}.${body}`).digest('hex')
  return {
    body,
    headers: {
      'x-svc-timestamp': String(timestamp),
      'x-svc-message-id': id,
      'x-svc-delivery-id': deliveryId,
      'x-svc-signature': `sha256=${signature}`,
    },
  }
}

async function kindOf({ headers, body }: Request, secret = SECRET): Promise<string> {
  try {
    await verifyWebhook(headers, Buffer.from(body), { secret, nowMs })
    return 'ok'
  } catch (error) {
    if (error instanceof WebhookError) return error.kind
    throw error
  }
}

/** Passes requests to a handler like an HTTP server, with the body in pieces. */
function startHandler(options: Partial<WebhookHandlerOptions> = {}) {
  const taken: string[] = []
  const handler = createWebhookHandler({
    secret: SECRET,
    nowMs,
    onMessage: ({ messageId }) => void taken.push(messageId),
    ...options,
  })
  return {
    taken,
    async post({ headers, body }: { headers: WebhookHeaders; body: string }, method = 'POST'): Promise<number> {
      const response = { statusCode: 0, end: () => {} }
      async function* pieces() {
        for (let at = 0; at < body.length; at += 7) yield Buffer.from(body.slice(at, at + 7))
      }
      await handler({ method, headers, [Symbol.asyncIterator]: pieces }, response)
      return response.statusCode
    },
  }
}

describe('spec 10.8: the receiver verifies the signature', () => {
  test('a valid delivery is returned with its exact bytes', async () => {
    const { headers, body } = requestOf('msg-0001')
    const delivery = await verifyWebhook(headers, Buffer.from(body), { secret: SECRET, nowMs })
    expect(delivery).toMatchObject({ messageId: 'msg-0001', deliveryId: 'd-msg-0001', timestamp: NOW_MS / 1000 })
    expect(delivery.envelope.id).toBe('msg-0001')
    expect(Buffer.from(delivery.body).toString()).toBe(body)
  })

  test.each([
    ['bob@svc.example', 204, 1],
    ['bob@SVC.example', 204, 1],
    ['eve@svc.example', 403, 0],
    ['bob@other.example', 403, 0],
  ])('spec 13.5: a delivery to bob@svc.example, at the receiver of %s: %i', async (address, status, count) => {
    const { taken, post } = startHandler({ address })
    expect(await post(requestOf('msg-0001', { to: 'bob@svc.example' }))).toBe(status)
    expect(taken).toHaveLength(count)
  })

  test.each<[string, (request: Request) => Request]>([
    ['another secret', () => requestOf('msg-0001', { secret: 'x'.repeat(32) })],
    ['a body with one bit changed', (one) => ({ ...one, body: one.body.replace('1.0', '1.1') })],
    ['another timestamp', ({ headers, body }) => ({ body, headers: { ...headers, 'x-svc-timestamp': '1767268801' } })],
    ['another message id', ({ headers, body }) => ({ body, headers: { ...headers, 'x-svc-message-id': 'msg-0002' } })],
    [
      'another signature',
      ({ headers, body }) => ({ body, headers: { ...headers, 'x-svc-signature': `sha256=${'0'.repeat(64)}` } }),
    ],
  ])('%s', async (_, change) => {
    expect(await kindOf(change(requestOf('msg-0001')))).toBe('signature_invalid')
  })

  test.each([
    ['x-svc-timestamp', undefined],
    ['x-svc-timestamp', 'now'],
    ['x-svc-message-id', undefined],
    ['x-svc-delivery-id', ''],
    ['x-svc-signature', undefined],
    ['x-svc-signature', 'sha256='],
    ['x-svc-signature', ['sha256=00', 'sha256=00']],
    ['x-svc-signature', `sha1=${'0'.repeat(64)}`],
  ])('%s: %j is malformed', async (name, value) => {
    const { headers, body } = requestOf('msg-0001')
    expect(await kindOf({ body, headers: { ...headers, [name]: value } })).toBe('malformed')
  })

  test.each(['', '{', '[]', '{"id":"msg-0001"}'])(
    'a signed body that is not an envelope is malformed: %j',
    async (body) => {
      const signature = createHmac('sha256', SECRET)
        .update(`${NOW_MS / 1000}.msg-0001.${body}`)
        .digest('hex')
      const headers = { ...requestOf('msg-0001').headers, 'x-svc-signature': `sha256=${signature}` }
      expect(await kindOf({ body, headers })).toBe('malformed')
    },
  )
})

describe('spec 10.8, 10.9: without X-SVC-Signature, the headers of Standard Webhooks', () => {
  const key = Buffer.alloc(32, 7)
  const secret = `whsec_${key.toString('base64')}`
  const { body } = requestOf('msg-0001')
  const timestamp = String(NOW_MS / 1000)

  function signed(id = 'd-msg-0001', at = timestamp, with_: string | Buffer = key): Request['headers'] {
    const signature = createHmac('sha256', with_).update(`${id}.${at}.${body}`).digest('base64')
    return { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': `v1,${signature}` }
  }

  test('a valid delivery is returned; the id of its message is that of the envelope', async () => {
    const delivery = await verifyWebhook(signed(), Buffer.from(body), { secret, nowMs })
    expect(delivery).toMatchObject({ messageId: 'msg-0001', deliveryId: 'd-msg-0001', timestamp: NOW_MS / 1000 })
  })

  test('in either form, a message is processed once', async () => {
    const { taken, post } = startHandler({ secret })
    expect(await post({ body, headers: signed() })).toBe(204)
    expect(await post(requestOf('msg-0001', { secret }))).toBe(200)
    expect(taken).toEqual(['msg-0001'])
  })

  const good = String(signed()['webhook-signature'])
  test.each<[string, Request['headers'], string]>([
    ['the signature is the second of its version', { ...signed(), 'webhook-signature': `v1,AAAA ${good}` }, 'ok'],
    ['a signature of another version is first', { ...signed(), 'webhook-signature': `v1a,AAAA ${good}` }, 'ok'],
    ['another id', { ...signed(), 'webhook-id': 'd-msg-0002' }, 'signature_invalid'],
    ['another timestamp', { ...signed(), 'webhook-timestamp': '1767268801' }, 'signature_invalid'],
    ['keyed with the text of the secret', signed('d-msg-0001', timestamp, secret), 'signature_invalid'],
    ['an old timestamp', signed('d-msg-0001', '1'), 'timestamp_out_of_range'],
    ['no id', { ...signed(), 'webhook-id': undefined }, 'malformed'],
    ['a full stop in the id', signed('d.1'), 'malformed'],
    ['a timestamp that is no number', { ...signed(), 'webhook-timestamp': 'now' }, 'malformed'],
    ['an empty signature', { ...signed(), 'webhook-signature': '' }, 'malformed'],
    ['hundreds of signatures', { ...signed(), 'webhook-signature': `${'v1,AAAA '.repeat(200)}${good}` }, 'malformed'],
    [
      'no signature of this version',
      { ...signed(), 'webhook-signature': good.replace('v1', 'v2') },
      'signature_invalid',
    ],
    ['a false X-SVC-Signature beside them', { ...requestOf('msg-0001').headers, ...signed() }, 'signature_invalid'],
  ])('%s', async (_, headers, kind) => {
    expect(await kindOf({ body, headers }, secret)).toBe(kind)
  })

  test.each([
    ['any text', 's'.repeat(32)],
    ['a key that is too short', `whsec_${'A'.repeat(28)}`],
  ])('a secret that is %s has no key for them', async (_, other) => {
    expect(await kindOf({ body, headers: signed('d-msg-0001', timestamp, other) }, other)).toBe('signature_invalid')
  })
})

describe('spec 10.8: the receiver checks freshness', () => {
  test.each([
    [-300, 'ok'],
    [-301, 'timestamp_out_of_range'],
    [300, 'ok'],
    [301, 'timestamp_out_of_range'],
  ])('%i seconds from its clock: %s', async (seconds, kind) => {
    expect(await kindOf(requestOf('msg-0001', { timestamp: NOW_MS / 1000 + seconds }))).toBe(kind)
  })
})

describe('spec 10.8: the receiver detects duplicates, and answers 2xx only after acceptance', () => {
  test('each message is processed once, by delivery id and by message id', async () => {
    const { taken, post } = startHandler()
    expect(await post(requestOf('msg-0001'))).toBe(204)
    expect(await post(requestOf('msg-0001'))).toBe(200)
    expect(await post(requestOf('msg-0001', { deliveryId: 'another' }))).toBe(200)
    expect(await post(requestOf('msg-0002'))).toBe(204)
    expect(taken).toEqual(['msg-0001', 'msg-0002'])
  })

  test('concurrent requests for one message: one is processed, the others wait for its result', async () => {
    const gate = Promise.withResolvers<void>()
    let calls = 0
    const { post } = startHandler({
      onMessage: async () => {
        calls += 1
        await gate.promise
      },
    })
    const answers = Array.from({ length: 20 }, () => post(requestOf('msg-0001')))
    gate.resolve()
    // Requests that arrived during the processing get its answer, 204. Later requests are duplicates, 200.
    expect((await Promise.all(answers)).every((status) => status === 204 || status === 200)).toBe(true)
    expect(calls).toBe(1)
  })

  test('a failed message is answered 500, and is processed when it comes again', async () => {
    let failing = true
    const { post } = startHandler({
      onMessage: () => {
        if (failing) throw new Error('the disk is full')
      },
    })
    expect(await post(requestOf('msg-0001'))).toBe(500)
    failing = false
    expect(await post(requestOf('msg-0001'))).toBe(204)
  })

  test('the store of the application survives restarts, and if it fails the message is not accepted', async () => {
    const ids = new Set<string>()
    expect(await startHandler({ accepted: ids }).post(requestOf('msg-0001'))).toBe(204)
    const { taken, post } = startHandler({ accepted: ids })
    expect(await post(requestOf('msg-0001'))).toBe(200)
    expect(taken).toEqual([])
    const broken = { has: () => Promise.reject(new Error('away')), add: () => {} }
    expect(await startHandler({ accepted: broken }).post(requestOf('msg-0001'))).toBe(500)
  })

  test('the default store remembers the last 10,000 ids', async () => {
    const { taken, post } = startHandler()
    await post(requestOf('msg-first'))
    for (let at = 0; at < 5_001; at += 1) await post(requestOf(`msg-${String(at).padStart(5, '0')}`))
    expect(await post(requestOf('msg-05000'))).toBe(200)
    expect(await post(requestOf('msg-first'))).toBe(204)
    expect(taken.length).toBe(5_003)
  })
})

describe('a hostile caller', () => {
  test.each([
    ['GET', 405],
    ['PUT', 405],
  ])('%s: %i', async (method, status) => {
    expect(await startHandler().post(requestOf('msg-0001'), method)).toBe(status)
  })

  test('learns only a status: 401 for a wrong signature and an old timestamp, 400 for a malformed request', async () => {
    const { taken, post } = startHandler()
    expect(await post(requestOf('msg-0001', { secret: randomBytes(16).toString('hex') }))).toBe(401)
    expect(await post(requestOf('msg-0001', { timestamp: 1 }))).toBe(401)
    expect(await post({ headers: {}, body: '{}' })).toBe(400)
    expect(taken).toEqual([])
  })

  test('a body longer than any envelope is answered 413, and not read to its end', async () => {
    const handler = createWebhookHandler({ secret: SECRET, onMessage: () => {} })
    let read = 0
    async function* endless() {
      for (;;) {
        read += 1
        yield new Uint8Array(16 * 1024)
      }
    }
    const response = { statusCode: 0, end: () => {} }
    await handler({ method: 'POST', headers: {}, [Symbol.asyncIterator]: endless }, response)
    expect([response.statusCode, read]).toEqual([413, 7])
  })
})
