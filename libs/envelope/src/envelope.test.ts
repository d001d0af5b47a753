import { MessageId } from '@svc/contracts/ids.ts'
import { LIMITS } from '@svc/contracts/limits.ts'
import { agentIdOf } from '@svc/svc1/agent-id.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { brokenTexts, jsonTexts, jsonValues } from '../test/json-texts.ts'
import { ENVELOPE_MEMBERS, EnvelopeError, readEnvelope } from './envelope.ts'
import { parseIJson, parseOrOutline } from './i-json.ts'
import { IJsonError, type JsonValue } from './json-value.ts'

const from = agentIdOf(new Uint8Array(32))
const base64 = (length: number, fill = 0xff) => Buffer.alloc(length, fill).toString('base64')

const head = { id: 'message-1', from, to: 'bob@127.0.0.1:8080', type: 'request', ts: '2026-11-20T12:28:31Z' }
const signed = { ...head, body: { text: 'hello' }, sig: base64(64) }
const sealed = { ...head, body_enc: base64(100), ephemeral_pub: base64(32) }

/** Reads the value as if it had arrived over the network. */
function read(value: unknown): ReturnType<typeof readEnvelope> {
  return readEnvelope(parseIJson(Buffer.from(JSON.stringify(value))).value)
}

describe('spec 6.1: facts of an envelope', () => {
  test('of a signed one', () => {
    expect(read({ ...signed, ttl: 60, reply_to: 'message-0', thread_id: 'thread_00' })).toEqual({
      id: 'message-1',
      from: { kind: 'id', id: from },
      to: { kind: 'agent', name: 'bob', authority: '127.0.0.1:8080' },
      type: 'request',
      tsMs: 1795177711000,
      ttl: 60,
      replyTo: 'message-0',
      threadId: 'thread_00',
      sealed: false,
      payloadBytes: 16,
      payloadCharacters: 16,
    })
  })

  test.each([['alice@127.0.0.1:8080'], ['alice@Agents.Example']])('from an address: %s', (address) => {
    const [name, authority] = address.split('@')
    expect(read({ ...signed, from: address }).from).toEqual({ kind: 'agent', name, authority })
    expect(read({ ...sealed, from: address }).from).toEqual({ kind: 'agent', name, authority })
  })

  test('of a sealed one: decoded ciphertext bytes, and no characters (spec 6.5)', () => {
    expect(read(sealed)).toEqual({
      id: 'message-1',
      from: { kind: 'id', id: from },
      to: { kind: 'agent', name: 'bob', authority: '127.0.0.1:8080' },
      type: 'request',
      tsMs: 1795177711000,
      ttl: 0,
      replyTo: undefined,
      threadId: undefined,
      sealed: true,
      payloadBytes: 100,
      payloadCharacters: undefined,
    })
  })

  test("property: body is any JSON value, and its size is that of JSON.stringify's output", () => {
    fc.assert(
      fc.property(jsonValues, (body) => {
        const facts = read({ ...signed, body })
        const text = JSON.stringify(JSON.parse(JSON.stringify(body)))
        expect(facts.payloadBytes).toBe(Buffer.byteLength(text))
        expect(facts.payloadCharacters).toBe([...text].length)
      }),
    )
  })

  test('spec 6.5: a body beyond every limit is not counted', () => {
    const sizes = (body: JsonValue) => {
      const { payloadBytes, payloadCharacters } = read({ ...signed, body })
      return [payloadBytes, payloadCharacters]
    }
    const [fits, longer] = ['é'.repeat(LIMITS.postBytes / 2 - 1), 'x'.repeat(LIMITS.postBytes - 1)]
    expect(sizes(fits)).toEqual([LIMITS.postBytes, LIMITS.postBytes / 2 + 1])
    expect(sizes(longer)).toEqual([Infinity, Infinity])
    expect(readEnvelope({ ...signed, body: {} }, null)).toMatchObject({ payloadBytes: Infinity })
  })

  test('spec 6.5: only the body counts, whatever the other members contain', () => {
    const body = { body: 0, '"body":0': 'é' }
    const envelope = { reply_to: '"body":0', body, sig: signed.sig, ...head, thread_id: '{"body":0}' }
    expect(read(envelope).payloadBytes).toBe(Buffer.byteLength(JSON.stringify(body)))
    expect(read({ ...envelope, body: 0 }).payloadBytes).toBe(1)
  })

  test.each([
    [0, 0],
    [1, 1],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    [2 ** 53, 2 ** 53],
    [1e300, 1e300],
  ])('ttl %d', (ttl, seconds) => {
    expect(read({ ...signed, ttl }).ttl).toBe(seconds)
  })

  test('ttl 60.0 and 6e1 are whole numbers, and -0 is 0', () => {
    for (const ttl of ['60.0', '6e1']) {
      expect(
        readEnvelope(JSON.parse(JSON.stringify({ ...signed, ttl: 1 }).replace('"ttl":1', `"ttl":${ttl}`))).ttl,
      ).toBe(60)
    }
    expect(readEnvelope({ ...signed, ttl: -0 }).ttl).toBe(0)
  })

  test('a board', () => {
    expect(read({ ...signed, to: `board:${'a'.repeat(20)}` }).to).toEqual({ kind: 'board', boardId: 'a'.repeat(20) })
  })

  test('property: ids are those of the contracts', () => {
    const pattern = new RegExp(MessageId.pattern ?? '')
    const near = fc.string({ unit: fc.constantFrom(...'aZ9_-. \n'), minLength: 6, maxLength: 82 })
    fc.assert(
      fc.property(fc.oneof(near, fc.stringMatching(pattern)), (id) => {
        const accepted = pattern.test(id)
        if (accepted) expect(read({ ...signed, id }).id).toBe(id)
        else expect(() => read({ ...signed, id })).toThrow(EnvelopeError)
        expect(read({ ...signed, reply_to: id }).replyTo).toBe(accepted ? id : '')
      }),
    )
  })
})

describe('spec 6.1, 6.9: a malformed reference refers to nothing, and is not an error of shape', () => {
  test.each(['', 'short', 'a'.repeat(81), 'with space', 'null\0null', '😀😀😀😀', 'message-1\n'])('%j', (reference) => {
    expect(read({ ...signed, reply_to: reference, thread_id: reference })).toMatchObject({ replyTo: '', threadId: '' })
  })
})

describe('an outline of an envelope is refused with the same error as the envelope', () => {
  const NAMES = { membersMax: 0, names: ENVELOPE_MEMBERS }
  const outcome = (read: () => unknown): unknown => {
    try {
      read()
      return 'an envelope'
    } catch (error) {
      if (error instanceof EnvelopeError) return error.code
      expect(error).toBeInstanceOf(IJsonError)
      return 'invalid_json'
    }
  }
  const of = (bytes: Uint8Array) => ({
    whole: outcome(() => {
      const { value, text } = parseIJson(bytes)
      readEnvelope(value, text)
    }),
    outlined: outcome(() => {
      const { value, text } = parseOrOutline(bytes, NAMES)
      readEnvelope(value, text)
    }),
  })

  test('property: even if it has several faults', () => {
    const members = fc.dictionary(
      fc.constantFrom(...ENVELOPE_MEMBERS, 'other', '1', 'toString'),
      fc.oneof(jsonValues, fc.constantFrom(...Object.values({ ...signed, ...sealed, ttl: 1 }))),
      { maxKeys: 3 },
    )
    const texts = fc
      .tuple(fc.constantFrom(signed, sealed, {}), members, jsonTexts, fc.nat(3))
      .map(([envelope, changes, spelled, at]) => {
        const text = JSON.stringify({ ...envelope, ...changes })
        return at === 0 ? text.replace('{"text":"hello"}', spelled) : text
      })
    const seen = new Set<unknown>()
    fc.assert(
      fc.property(fc.oneof(texts, jsonTexts), (text) => {
        const { whole, outlined } = of(Buffer.from(text))
        expect(outlined).toBe(whole)
        seen.add(whole)
      }),
      { numRuns: 3000 },
    )
    expect(seen).toEqual(new Set(['an envelope', 'invalid_json', 'invalid_envelope', 'invalid_request']))
  }, 60_000)
})

// docs/vectors/refused-envelopes.json has a case for each rule.
describe('spec 6.1: a malformed envelope is refused', () => {
  test('a message about a member is short, whatever its name', () => {
    expect(() => read({ ...signed, ['x'.repeat(90_000)]: 1 })).toThrow(/^.{0,200}$/)
  })

  test('property: any JSON is read or is an EnvelopeError, with any members and values', () => {
    const members = fc.dictionary(
      fc.constantFrom(...Object.keys({ ...signed, ...sealed, ttl: 0, reply_to: '', thread_id: '' }), 'other'),
      jsonValues,
    )
    fc.assert(
      fc.property(members, fc.constantFrom(signed, sealed, {}), (changes, envelope) => {
        try {
          read({ ...envelope, ...changes })
        } catch (error) {
          expect(error).toBeInstanceOf(EnvelopeError)
        }
      }),
      { numRuns: 1000 },
    )
  }, 60_000)

  test('property: any bytes are read or are an IJsonError or an EnvelopeError', () => {
    const bytes = fc.oneof(
      brokenTexts,
      jsonTexts.map((text) => Buffer.from(JSON.stringify(signed).replace('{"text":"hello"}', text))),
    )
    fc.assert(
      fc.property(bytes, (received) => {
        try {
          readEnvelope(parseIJson(received).value)
        } catch (error) {
          expect(error instanceof IJsonError || error instanceof EnvelopeError).toBe(true)
        }
      }),
      { numRuns: 2000 },
    )
  }, 60_000)
})
