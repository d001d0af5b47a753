import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nonceKey } from './nonce-key.ts'

const agentId = fc.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/)
const nonce = fc.stringMatching(/^([0-9a-f]{2}){16,64}$/)

test('spec 3.7: a nonce is remembered per signer: its key is 16 bytes, and differs for another signer or nonce', () => {
  fc.assert(
    fc.property(agentId, nonce, agentId, nonce, (agent, used, otherAgent, otherNonce) => {
      const key = nonceKey(agent, used)
      expect(key).toMatch(/^[0-9a-f]{32}$/)
      expect(nonceKey(agent, used)).toBe(key)
      expect(nonceKey(otherAgent, otherNonce) === key).toBe(agent === otherAgent && used === otherNonce)
    }),
  )
})

test('no two pairs of signer and nonce have the same text', () => {
  const used = 'ab'.repeat(16)
  expect(nonceKey('A'.repeat(43), `aa${used}`)).not.toBe(nonceKey(`${'A'.repeat(43)}a`, `a${used}`))
})
