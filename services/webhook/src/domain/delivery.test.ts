import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { deliveryHeaders, deliveryId, signatureOf } from './delivery.ts'

const delivery = { configuration: 'c0ffee', messageId: 'msg-0001', body: '{"id":"msg-0001","body":"ü\\u0000"}' }
const secret = Buffer.from('ü'.repeat(32), 'utf8')
const NOW_MS = 1_767_268_800_999

describe('spec 10.5: X-SVC-Timestamp, X-SVC-Message-ID, X-SVC-Delivery-ID and X-SVC-Signature', () => {
  test('every header, and the signature over <timestamp>.<message_id>.<exact_body_bytes>', () => {
    const signed = Buffer.concat([Buffer.from('1767268800.msg-0001.'), Buffer.from(delivery.body, 'utf8')])
    expect(deliveryHeaders(delivery, secret, NOW_MS)).toEqual({
      'content-type': 'application/json',
      'x-svc-timestamp': '1767268800',
      'x-svc-message-id': 'msg-0001',
      'x-svc-delivery-id': deliveryId(delivery),
      'x-svc-signature': `sha256=${createHmac('sha256', secret).update(signed).digest('hex')}`,
    })
  })

  test('a signature by another implementation: openssl dgst -sha256 -hmac', () => {
    // printf '1767268800.msg-0001.{}' | openssl dgst -sha256 -hmac 0123456789abcdef0123456789abcdef
    const key = Buffer.from('0123456789abcdef0123456789abcdef')
    expect(signatureOf(key, '1767268800', 'msg-0001', '{}')).toBe(
      '3e6feef8c515b6f7c7572811df1d9db44c64cf4e38a8f860f1d0632c0fe4ecbb',
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
