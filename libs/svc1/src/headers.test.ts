import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { agentIdOf } from './agent-id.ts'
import { formatAuthorization, parseAuthorization, parseNonce, parseTimestamp } from './headers.ts'

const agentId = agentIdOf(new Uint8Array(32))
const signature = Uint8Array.from({ length: 64 }, (_, i) => i * 4)
const base64 = Buffer.from(signature).toString('base64')

describe('spec 3.2: Authorization is SVC <AGENT_ID>:<BASE64_ED25519_SIGNATURE>', () => {
  test('a formatted header parses back', () => {
    const value = formatAuthorization({ agentId, signature })
    expect(value).toBe(`SVC ${agentId}:${base64}`)
    expect(parseAuthorization(value)).toEqual({ agentId, signature })
  })

  test.each([
    ['nothing', ''],
    ['the scheme alone', 'SVC'],
    ['another scheme', `Bearer ${agentId}:${base64}`],
    ['the scheme in lower case', `svc ${agentId}:${base64}`],
    ['no scheme', `${agentId}:${base64}`],
    ['two spaces', `SVC  ${agentId}:${base64}`],
    ['a tab', `SVC\t${agentId}:${base64}`],
    ['a space after', `SVC ${agentId}:${base64} `],
    ['a line feed after', `SVC ${agentId}:${base64}\n`],
    ['two colons', `SVC ${agentId}::${base64}`],
    ['no colon', `SVC ${agentId}${base64}`],
    ['no agent id', `SVC :${base64}`],
    ['no signature', `SVC ${agentId}:`],
    ['an agent id that is not 32 bytes', `SVC ${agentId.slice(2)}:${base64}`],
    ['an agent id of 8,000 digits', `SVC ${'2'.repeat(8_000)}:${base64}`],
    ['an agent id with an invalid digit', `SVC 0${agentId.slice(1)}:${base64}`],
    ['a signature without padding', `SVC ${agentId}:${base64.slice(0, -2)}`],
    ['a signature with trailing bits', `SVC ${agentId}:${base64.slice(0, 85)}B==`],
    ['a signature of 63 bytes', `SVC ${agentId}:${Buffer.from(signature.subarray(1)).toString('base64')}`],
    ['a signature of 66 bytes', `SVC ${agentId}:${Buffer.alloc(66).toString('base64')}`],
    ['the URL alphabet', `SVC ${agentId}:${base64.slice(0, 84)}-A==`],
    ['two headers joined', `SVC ${agentId}:${base64}, SVC ${agentId}:${base64}`],
  ])('malformed: %s', (_, value) => {
    expect(parseAuthorization(value)).toBeUndefined()
  })

  test('property: never throws', () => {
    fc.assert(fc.property(fc.string(), (value) => parseAuthorization(value) === undefined))
  })
})

describe('spec 3.2: X-SVC-Timestamp is Unix seconds as a decimal string', () => {
  test.each([
    ['0', 0],
    ['1', 1],
    ['1763640000', 1763640000],
    ['999999999999999', 999999999999999],
  ])('%j is %d', (value, seconds) => {
    expect(parseTimestamp(value)).toBe(seconds)
  })

  test.each([
    '',
    ' ',
    '-1',
    '+1',
    '1.5',
    '1e9',
    '0x10',
    '01',
    '1763640000 ',
    ' 1763640000',
    '1763640000\n',
    '1763640000,1763640000',
    '2026-01-01T00:00:00Z',
    '१',
    '1_000',
    '1'.repeat(16),
  ])('malformed: %j', (value) => {
    expect(parseTimestamp(value)).toBeUndefined()
  })
})

describe('spec 3.2: X-SVC-Nonce is 32 to 128 hex digits', () => {
  test('spec 3.7: nonces are compared by their bytes, so both cases are equal', () => {
    expect(parseNonce('AB'.repeat(16))).toEqual(parseNonce('ab'.repeat(16)))
    expect(parseNonce('aB'.repeat(16))).toEqual(new Uint8Array(16).fill(0xab))
  })

  test.each([
    [31, false],
    [32, true],
    [33, false],
    [34, true],
    [127, false],
    [128, true],
    [129, false],
    [130, false],
  ])('spec 3.2: %d digits: %s', (length, accepted) => {
    expect(parseNonce('a'.repeat(length)) !== undefined).toBe(accepted)
  })

  test.each([
    ['a letter past f', `g${'a'.repeat(31)}`],
    ['a line feed after', `${'a'.repeat(32)}\n`],
    ['a space before', ` ${'a'.repeat(32)}`],
    ['hyphens', `${'a'.repeat(16)}--${'a'.repeat(16)}`],
    ['0x before', `0x${'a'.repeat(32)}`],
    ['two headers joined', `${'a'.repeat(32)}, ${'b'.repeat(32)}`],
    ['nothing', ''],
  ])('malformed: %s', (_, value) => {
    expect(parseNonce(value)).toBeUndefined()
  })
})
