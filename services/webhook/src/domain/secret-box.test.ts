import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createSecretBox, type Sealed } from './secret-box.ts'

const [OLD, NEW] = ['o'.repeat(32), 'n'.repeat(32)]
const owner = { agentId: 'alice', configuration: 'one' }
const secret = Buffer.from('a secret of thirty-two characters, and \u0000 ü')

describe('secrets are encrypted at rest', () => {
  test('a sealed secret opens, and does not contain the secret', () => {
    const box = createSecretBox([NEW])
    const sealed = box.seal(secret, owner)
    expect(box.open(sealed, owner)).toEqual(secret)
    expect(sealed.sealed.includes(secret.subarray(0, 8))).toBe(false)
    expect(sealed.keyId).not.toContain(NEW.slice(0, 8))
  })

  test('the same secret is sealed differently each time', () => {
    const box = createSecretBox([NEW])
    const nonces = new Set(Array.from({ length: 100 }, () => box.seal(secret, owner).sealed.toString('hex', 0, 12)))
    expect(nonces.size).toBe(100)
  })

  test.each([
    ['another agent', { ...owner, agentId: 'bob' }],
    ['another configuration', { ...owner, configuration: 'two' }],
  ])('a box that is moved to %s does not open', (_, other) => {
    const box = createSecretBox([NEW])
    expect(() => box.open(box.seal(secret, owner), other)).toThrow()
  })

  test('a box with one bit changed or a byte missing does not open', () => {
    const box = createSecretBox([NEW])
    const { keyId, sealed } = box.seal(secret, owner)
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed)
      changed[at] = (changed[at] ?? 0) ^ 1
      expect(() => box.open({ keyId, sealed: changed }, owner)).toThrow()
      expect(() => box.open({ keyId, sealed: sealed.subarray(0, at) }, owner)).toThrow()
    }
  })
})

describe('key rotation by key id', () => {
  test('with a new first key, boxes of the old key still open, and the new key seals', () => {
    const before = createSecretBox([OLD]).seal(secret, owner)
    const box = createSecretBox([NEW, OLD])
    expect(box.open(before, owner)).toEqual(secret)
    expect(box.seal(secret, owner).keyId).toBe(createSecretBox([NEW]).keyId)
    expect(box.keyId).not.toBe(before.keyId)
  })

  test('a missing key is named by its id', () => {
    const before: Sealed = createSecretBox([OLD]).seal(secret, owner)
    expect(() => createSecretBox([NEW]).open(before, owner)).toThrow(before.keyId)
  })

  test('one key has one id, and different keys have different ids', () => {
    const ids = Array.from({ length: 50 }, () => createSecretBox([randomBytes(32).toString('hex')]).keyId)
    expect(new Set(ids).size).toBe(50)
    expect(createSecretBox([OLD]).keyId).toBe(createSecretBox([OLD, NEW]).keyId)
  })
})
