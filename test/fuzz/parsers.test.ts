/**
 * Properties of the parsers on arbitrary bytes: each parser accepts the input or refuses it with its own error, and
 * accepted input means what it says.
 */
import { isMessageId } from '@svc/contracts/ids.ts'
import { parseAddress, parseSender } from '@svc/envelope/address.ts'
import { parseDateTime } from '@svc/envelope/date-time.ts'
import { EnvelopeError, readEnvelope } from '@svc/envelope/envelope.ts'
import { parseIJson } from '@svc/envelope/i-json.ts'
import { IJsonError } from '@svc/envelope/json-value.ts'
import { isAgentId } from '@svc/svc1/agent-id.ts'
import { decodeBase64, encodeBase64 } from '@svc/svc1/base64.ts'
import { formatAuthorization, parseAuthorization, parseNonce, parseTimestamp } from '@svc/svc1/headers.ts'
import { createKeyPair } from '@svc/svc1/key-pair.ts'
import { formatPublicKey, isPublicKey, parsePublicKey } from '@svc/svc1/public-key.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { jsonTexts, jsonValues } from '../../libs/envelope/test/json-texts.ts'
import { referenceIJson } from '../../libs/envelope/test/reference-json.ts'
import { brokenBytes } from './broken.ts'
import { CASES, runsOf } from './plan.ts'

test('at least 20,000 cases', () => {
  expect(Object.values(CASES).reduce((sum, cases) => sum + cases, 0)).toBeGreaterThanOrEqual(20_000)
})

describe('spec 2.5: I-JSON', () => {
  const refusal = (bytes: Uint8Array): { value: unknown; text: string } | 'refused' => {
    try {
      return parseIJson(bytes)
    } catch (error) {
      expect(error).toBeInstanceOf(IJsonError)
      return 'refused'
    }
  }

  test('spec 2.5: any bytes and damaged texts are read as by the slow, obvious parser', () => {
    const texts = jsonTexts.map((text) => Buffer.from(text))
    const inputs = fc.oneof(
      { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }) },
      { weight: 2, arbitrary: texts },
      { weight: 4, arbitrary: brokenBytes(texts) },
    )
    fc.assert(
      fc.property(inputs, (bytes) => {
        const reference = referenceIJson(bytes)
        expect(refusal(bytes)).toEqual('refused' in reference ? 'refused' : reference)
      }),
      runsOf('iJson'),
    )
  })

  test("spec 2.5: JSON.stringify's output comes back unchanged", () => {
    fc.assert(
      fc.property(jsonValues, (value) => {
        const text = JSON.stringify(value)
        expect(parseIJson(Buffer.from(text)).text).toBe(text)
      }),
      runsOf('jsonValues'),
    )
  })
})

describe('spec 2.4, 3.2, 3.7: SVC1 headers', () => {
  const agentIds = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((seed) => createKeyPair(seed).agentId)
  const signatures = fc.uint8Array({ minLength: 64, maxLength: 64 })
  const right = fc
    .tuple(agentIds, signatures)
    .map(([agentId, signature]) => formatAuthorization({ agentId, signature }))
  const near = (texts: fc.Arbitrary<string>) =>
    fc.oneof(
      texts,
      brokenBytes(texts.map((text) => Buffer.from(text))).map((bytes) => Buffer.from(bytes).toString('latin1')),
    )

  test('spec 2.4, 3.2: an accepted Authorization header has only one spelling', () => {
    fc.assert(
      fc.property(near(right), (text) => {
        const parsed = parseAuthorization(text)
        if (parsed !== undefined) expect(formatAuthorization(parsed)).toBe(text)
      }),
      runsOf('headers', 3),
    )
  })

  test('spec 3.2: an accepted timestamp is the number in its text', () => {
    const texts = fc.oneof(
      fc.nat().map(String),
      fc.string({ unit: fc.constantFrom(...'0123456789+-.e x'), maxLength: 18 }),
    )
    fc.assert(
      fc.property(near(texts), (text) => {
        const seconds = parseTimestamp(text)
        if (seconds !== undefined) expect([Number.isSafeInteger(seconds), String(seconds)]).toEqual([true, text])
      }),
      runsOf('headers', 3),
    )
  })

  test('spec 3.2: an accepted nonce has 16 to 64 bytes, in either case', () => {
    const texts = fc.string({ unit: fc.constantFrom(...'0123456789abcdefABCDEF'), minLength: 28, maxLength: 132 })
    fc.assert(
      fc.property(near(texts), (text) => {
        const nonce = parseNonce(text)
        const right = /^[0-9a-f]*$/i.test(text) && text.length % 2 === 0 && text.length >= 32 && text.length <= 128
        expect(nonce === undefined ? undefined : Buffer.from(nonce).toString('hex')).toBe(
          right ? text.toLowerCase() : undefined,
        )
      }),
      runsOf('headers', 3),
    )
  })
})

test('spec 2.4: accepted base64 has one spelling', () => {
  const texts = fc.oneof(
    fc.uint8Array({ maxLength: 40 }).map(encodeBase64),
    fc.string({ unit: fc.constantFrom(...'AQgwZ09+/=-_ \n'), maxLength: 12 }),
  )
  fc.assert(
    fc.property(texts, (text) => {
      const bytes = decodeBase64(text)
      if (bytes !== undefined) expect(encodeBase64(bytes)).toBe(text)
    }),
    runsOf('base64'),
  )
})

test('spec 2.2: an accepted public key is canonical, of prime order, and has one spelling in lower case', () => {
  const hexes = fc.oneof(
    fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex')),
    fc
      .uint8Array({ minLength: 32, maxLength: 32 })
      .map((seed) => formatPublicKey(createKeyPair(seed).publicKey).slice(8)),
    fc.string({ unit: fc.constantFrom(...'0123456789abcdefF'), minLength: 60, maxLength: 68 }),
  )
  fc.assert(
    fc.property(hexes, fc.constantFrom('ed25519:', 'ED25519:', '', 'ed25519'), (hex, prefix) => {
      const key = parsePublicKey(prefix + hex)
      if (key === undefined) return
      expect(formatPublicKey(key)).toBe((prefix + hex).toLowerCase())
      expect(isPublicKey(key)).toBe(true)
    }),
    runsOf('keys'),
  )
})

test('spec 2.8, 2.9, 6.2: an accepted address is the sum of its parts', () => {
  const texts = fc.oneof(
    fc.stringMatching(/^[a-z0-9_-]{2,33}@[a-z0-9.:[\]-]{1,20}$/),
    fc.stringMatching(/^board:[a-z0-9]{18,42}$/),
    fc.string({ unit: fc.constantFrom(...'aZ09_-@:.[]/% \n\0'), maxLength: 40 }),
  )
  fc.assert(
    fc.property(texts, (text) => {
      const address = parseAddress(text)
      if (address === undefined) return
      expect(address.kind === 'board' ? `board:${address.boardId}` : `${address.name}@${address.authority}`).toBe(text)
    }),
    runsOf('addresses'),
  )
})

test('spec 6.7: an accepted date-time is a moment', () => {
  const numbers = fc.tuple(fc.nat(99_999), fc.nat(99), fc.nat(99), fc.nat(99), fc.nat(99), fc.nat(99))
  const zones = fc.constantFrom('Z', 'z', '+23:59', '-24:00', '', '+1:00')
  const texts = fc.oneof(
    fc.tuple(numbers, zones).map(([[year, month, day, hour, minute, second], zone]) => {
      const two = (number: number): string => String(number).padStart(2, '0')
      return `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}:${two(second)}${zone}`
    }),
    fc
      .date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-01-01T00:00:00Z') })
      .map((date) => date.toISOString()),
    fc.string({ unit: fc.constantFrom(...'0123456789-:TtZz+. '), maxLength: 30 }),
  )
  fc.assert(
    fc.property(texts, (text) => {
      const epochMs = parseDateTime(text)
      if (epochMs === undefined) return
      expect(Number.isSafeInteger(epochMs)).toBe(true)
      expect(text).toMatch(/^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/)
      // Date has no leap seconds.
      if (!/:60/.test(text)) expect(Math.trunc(new Date(text.toUpperCase()).getTime())).toBe(epochMs)
    }),
    runsOf('dateTimes'),
  )
})

describe('spec 2.4, 2.7, 6.1: envelopes', () => {
  const base64Of = (length: number) => fc.uint8Array({ minLength: length, maxLength: length }).map(encodeBase64)
  const head = {
    id: fc.stringMatching(/^[A-Za-z0-9_-]{8,80}$/),
    from: fc.oneof(
      fc.uint8Array({ minLength: 32, maxLength: 32 }).map((seed) => createKeyPair(seed).agentId),
      fc.constantFrom('alice@127.0.0.1:8080', 'alice@messages.example'),
    ),
    to: fc.constantFrom('bob@127.0.0.1:8080', 'board:00000000000000000000'),
    type: fc.constantFrom('request', 'response', 'event', 'error'),
    ts: fc
      .date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-01-01T00:00:00Z') })
      .map((date) => date.toISOString()),
  }
  const optional = { ttl: fc.nat(), reply_to: fc.string(), thread_id: fc.string() }
  const signed = fc.record(
    { ...head, ...optional, body: jsonValues, sig: base64Of(64) },
    { requiredKeys: ['id', 'from', 'to', 'type', 'ts', 'body', 'sig'] },
  )
  const sealed = fc.record(
    { ...head, ...optional, body_enc: base64Of(50), ephemeral_pub: base64Of(32) },
    { requiredKeys: ['id', 'from', 'to', 'type', 'ts', 'body_enc', 'ephemeral_pub'] },
  )
  const names = [
    'id',
    'from',
    'to',
    'type',
    'ts',
    'body',
    'sig',
    'body_enc',
    'ephemeral_pub',
    'ttl',
    'reply_to',
    'thread_id',
    'other',
    'toString',
  ]
  const changes = fc.dictionary(fc.constantFrom(...names), fc.oneof(fc.constant(undefined), jsonValues), { maxKeys: 2 })

  test('spec 6.1: a well-formed envelope is read', () => {
    fc.assert(
      fc.property(fc.oneof(signed, sealed), (envelope) => {
        expect(readEnvelope(envelope)).toMatchObject({
          id: envelope.id,
          from: parseSender(envelope.from),
          sealed: 'body_enc' in envelope,
        })
      }),
      runsOf('envelopes', 4),
    )
  })

  test('spec 2.7, 6.1: an envelope with a change in any member is refused, or still an envelope', () => {
    fc.assert(
      fc.property(fc.oneof(signed, sealed), changes, (envelope, change) => {
        const changed = Object.fromEntries(
          Object.entries({ ...envelope, ...change }).filter(([, value]) => value !== undefined),
        )
        try {
          const facts = readEnvelope(changed)
          expect([
            isMessageId(facts.id),
            facts.from.kind === 'agent' || isAgentId(facts.from.id),
            facts.ttl >= 0,
            Number.isSafeInteger(facts.tsMs),
          ]).not.toContain(false)
          expect(Object.keys(changed).filter((name) => name === 'other' || name === 'toString')).toEqual([])
          expect(['body' in changed, 'sig' in changed]).toEqual([!facts.sealed, !facts.sealed])
          expect(['body_enc' in changed, 'ephemeral_pub' in changed]).toEqual([facts.sealed, facts.sealed])
          const size = facts.sealed ? facts.payloadBytes : Buffer.byteLength(JSON.stringify(changed.body))
          expect(facts.payloadBytes).toBe(size)
        } catch (error) {
          expect(error).toBeInstanceOf(EnvelopeError)
        }
      }),
      runsOf('envelopes', 2),
    )
  })

  test('spec 2.7, 6.1: any JSON is either read as an envelope or refused', () => {
    fc.assert(
      fc.property(jsonValues, (value) => {
        expect(() => readEnvelope(value)).toThrow(EnvelopeError)
      }),
      runsOf('envelopes', 4),
    )
  })
})
