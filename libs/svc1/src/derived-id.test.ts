import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { derivedId } from './derived-id.ts'

const key = new Uint8Array(32).fill(7)

test('a derived id is an HMAC under a secret that is derived from the key', () => {
  const secret = createHmac('sha256', key).update('SVC1 derived id\nanswer').digest()
  expect(derivedId(key, 'answer', 'message-1')).toBe(
    createHmac('sha256', secret).update('message-1').digest('hex').slice(0, 32),
  )
})

test('key, purpose and text each change the id', () => {
  const ids = [
    derivedId(key, 'answer', 'a'),
    derivedId(key, 'answer', 'b'),
    derivedId(key, 'request', 'a'),
    derivedId(new Uint8Array(32), 'answer', 'a'),
  ]
  expect(new Set(ids)).toHaveProperty('size', 4)
})
