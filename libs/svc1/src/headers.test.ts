import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { agentIdOf } from './agent-id.ts'
import { formatAuthorization, parseAuthorization, parseNonce } from './headers.ts'

const agentId = agentIdOf(new Uint8Array(32))
const signature = Uint8Array.from({ length: 64 }, (_, i) => i * 4)
const base64 = Buffer.from(signature).toString('base64')

// docs/vectors/texts.json has the forms of each header.
describe('spec 3.2: Authorization is SVC <AGENT_ID>:<BASE64_ED25519_SIGNATURE>', () => {
  test('a formatted header parses back', () => {
    const value = formatAuthorization({ agentId, signature })
    expect(value).toBe(`SVC ${agentId}:${base64}`)
    expect(parseAuthorization(value)).toEqual({ agentId, signature })
  })

  test('property: never throws', () => {
    fc.assert(fc.property(fc.string(), (value) => parseAuthorization(value) === undefined))
  })
})

test('spec 3.7: nonces are compared by their bytes, so both cases are equal', () => {
  expect(parseNonce('AB'.repeat(16))).toEqual(parseNonce('ab'.repeat(16)))
  expect(parseNonce('aB'.repeat(16))).toEqual(new Uint8Array(16).fill(0xab))
})
