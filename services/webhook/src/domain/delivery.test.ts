import { createHmac } from 'node:crypto'
import { SERVICE } from '@svc/contracts/limits.ts'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { deliveryHeaders, deliveryId } from './delivery.ts'

const delivery = { configuration: 'c0ffee', messageId: 'msg-0001', body: '{"id":"msg-0001","body":"ü\\u0000"}' }
const secret = Buffer.from('ü'.repeat(32), 'utf8')
const NOW_MS = 1_767_268_800_999

describe('spec 10.5: User-Agent, X-SVC-Timestamp, X-SVC-Message-ID, X-SVC-Delivery-ID and X-SVC-Signature', () => {
  test('every header, and the signature over <timestamp>.<message_id>.<exact_body_bytes>', () => {
    const signed = Buffer.concat([Buffer.from('1767268800.msg-0001.'), Buffer.from(delivery.body, 'utf8')])
    expect(deliveryHeaders(delivery, secret, NOW_MS)).toEqual({
      'content-type': 'application/json',
      'user-agent': `signed-agent-messaging/${SERVICE.version}`,
      'x-svc-timestamp': '1767268800',
      'x-svc-message-id': 'msg-0001',
      'x-svc-delivery-id': deliveryId(delivery),
      'x-svc-signature': `sha256=${createHmac('sha256', secret).update(signed).digest('hex')}`,
    })
  })

  test('a signature by another implementation: openssl dgst -sha256 -hmac', () => {
    // printf '1767268800.msg-0001.{}' | openssl dgst -sha256 -hmac 0123456789abcdef0123456789abcdef
    const key = Buffer.from('0123456789abcdef0123456789abcdef')
    expect(deliveryHeaders({ ...delivery, body: '{}' }, key, NOW_MS)['x-svc-signature']).toBe(
      'sha256=3e6feef8c515b6f7c7572811df1d9db44c64cf4e38a8f860f1d0632c0fe4ecbb',
    )
  })

  test('spec 10.5: the timestamp belongs to the attempt, the delivery id to the job', () => {
    const [first, second] = [NOW_MS, NOW_MS + 30_000].map((nowMs) => deliveryHeaders(delivery, secret, nowMs))
    expect(second?.['x-svc-timestamp']).toBe('1767268830')
    expect(second?.['x-svc-delivery-id']).toBe(first?.['x-svc-delivery-id'])
    expect(second?.['x-svc-signature']).not.toBe(first?.['x-svc-signature'])
  })

  test('another message, or another configuration, is another delivery', () => {
    const ids = [delivery, { ...delivery, messageId: 'msg-0002' }, { ...delivery, configuration: 'decaf' }].map(
      deliveryId,
    )
    expect(new Set(ids).size).toBe(3)
    expect(ids[0]).toMatch(/^[0-9a-f]{32}$/)
  })
})

describe('spec 10.9: the headers of Standard Webhooks', () => {
  const headersWith = (text: string): Record<string, string> =>
    deliveryHeaders(delivery, Buffer.from(text, 'utf8'), Date.now())
  const secretOf = (bytes: number): string => `whsec_${Buffer.alloc(bytes, 0xfb).toString('base64')}`

  test.each([24, 25, 32, 63, 64])('a key of %i bytes: the library standardwebhooks verifies the delivery', (bytes) => {
    const headers = headersWith(secretOf(bytes))
    expect(new Webhook(secretOf(bytes)).verify(delivery.body, headers)).toEqual(JSON.parse(delivery.body))
    expect(headers['webhook-id']).toBe(headers['x-svc-delivery-id'])
    expect(() => new Webhook(secretOf(bytes)).verify(`${delivery.body} `, headers)).toThrow()
  })

  test('spec 10.5: X-SVC-Signature stays keyed with the whole secret', () => {
    const headers = headersWith(secretOf(32))
    const timestamp = headers['x-svc-timestamp'] ?? ''
    const hex = createHmac('sha256', secretOf(32))
      .update(`${timestamp}.${delivery.messageId}.${delivery.body}`)
      .digest('hex')
    expect(headers['x-svc-signature']).toBe(`sha256=${hex}`)
  })

  test.each([
    ['no prefix', Buffer.alloc(32).toString('base64')],
    ['another case of the prefix', secretOf(32).replace('whsec', 'WHSEC')],
    ['23 bytes', secretOf(23)],
    ['65 bytes', secretOf(65)],
    ['no base64', `whsec_${'*'.repeat(40)}`],
    ['base64 of URLs', secretOf(33).replaceAll('+', '-').replaceAll('/', '_')],
    ['no padding', secretOf(32).replace(/=+$/, '')],
    ['padding too long', `${secretOf(33)}=`],
    ['a line feed', `${secretOf(33)}\n`],
    ['white space inside', secretOf(33).replace('+', ' +')],
    ['bits that are not used', secretOf(32).replace('s=', 't=')],
    ['the prefix alone', 'whsec_'.padEnd(38, '=')],
  ])('a secret with %s: none of these headers', (_, text) => {
    expect(Object.keys(headersWith(text)).filter((name) => name.startsWith('webhook-'))).toEqual([])
  })
})
