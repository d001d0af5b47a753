import { sealEnvelope } from '@svc/envelope/seal.ts'
import { base64ByteLength } from '@svc/svc1/base64.ts'
import { createKeyPair } from '@svc/svc1/key-pair.ts'
import { expect, test } from 'vitest'
import { isTooLarge, sizeOf } from './price.ts'

const DM = { sealed: false, isPost: false, recipients: 1 }

test.each([
  { body: 'hi', options: DM, bytes: 4, units: 1 },
  { body: 'x'.repeat(1022), options: DM, bytes: 1024, units: 1 },
  { body: 'x'.repeat(1023), options: DM, bytes: 1025, units: 2 },
  { body: 'é', options: DM, bytes: 4, units: 1 },
  { body: { a: 1 }, options: { ...DM, isPost: true, recipients: 5 }, bytes: 7, units: 5 },
  { body: 'hi', options: { ...DM, isPost: true, recipients: 0 }, bytes: 4, units: 1 },
])('spec 11.2: $options of $bytes bytes costs $units units', ({ body, options, bytes, units }) => {
  expect(sizeOf(body, options)).toMatchObject({ bytes, units })
})

test('spec 6.5: the size of a sealed body is that of its ciphertext', async () => {
  const [sender, recipient] = [createKeyPair(), createKeyPair()]
  for (const body of ['', 'hello "you"', { z: [1, 2.5, null], a: 'é\n' }]) {
    const head = {
      id: 'message-1',
      from: sender.agentId,
      to: 'bob@host',
      type: 'event' as const,
      ts: '2026-11-20T12:28:31Z',
    }
    const sealed = await sealEnvelope({ ...head, body }, recipient.publicKey, sender.secretKey)
    expect(sizeOf(body, { ...DM, sealed: true }).bytes).toBe(base64ByteLength(sealed.body_enc))
  }
})

test('spec 6.5: code points count only for signed bodies', () => {
  expect(isTooLarge(sizeOf('x'.repeat(3_998), DM))).toBe(false)
  expect(isTooLarge(sizeOf('x'.repeat(3_999), DM))).toBe(true)
  expect(isTooLarge(sizeOf('x'.repeat(3_999), { ...DM, sealed: true }))).toBe(false)
  expect(isTooLarge(sizeOf('x'.repeat(17_000), { ...DM, sealed: true }))).toBe(true)
})
