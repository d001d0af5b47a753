/** Holds the pure functions of libs/ against the vectors of what must be refused. The gateway and messaging test the rest. */
import { isAgentName, isBoardId, isMessageId } from '@svc/contracts/ids.ts'
import { isName, parseAddress, parseSender } from '@svc/envelope/address.ts'
import { parseDateTime } from '@svc/envelope/date-time.ts'
import { ENVELOPE_MEMBERS, EnvelopeError, readEnvelope } from '@svc/envelope/envelope.ts'
import { parseIJson, parseOrOutline } from '@svc/envelope/i-json.ts'
import { IJsonError } from '@svc/envelope/json-value.ts'
import { bodySize, type PayloadSize, sizeFault } from '@svc/envelope/size.ts'
import { isAgentId } from '@svc/svc1/agent-id.ts'
import { base64ByteLength, decodeBase64 } from '@svc/svc1/base64.ts'
import { parseAuthorization, parseNonce, parseTimestamp } from '@svc/svc1/headers.ts'
import { formatPublicKey, parsePublicKey } from '@svc/svc1/public-key.ts'
import { readVectors } from '@svc/test/support/vectors.ts'
import { describe, expect, test } from 'vitest'

interface Text {
  about: string
  text: string
  bytes?: string
  unix_seconds?: number
}
const { kinds } = readVectors<{ kinds: { kind: string; section: string; valid: Text[]; refused: Text[] }[] }>(
  'texts.json',
)

/** What each parser makes of a text; undefined if it refuses the text. Several must agree. */
const PARSERS: Record<string, ((text: string) => unknown)[]> = {
  'public key': [(text) => parsePublicKey(text)],
  'agent id': [(text) => orRefused(isAgentId(text)), (text) => (isAgentId(text) ? parseSender(text) : undefined)],
  base64: [decodeBase64, base64ByteLength],
  name: [
    (text) => orRefused(isName(text)),
    (text) => orRefused(isAgentName(text)),
    (text) => parseAddress(`${text}@h`),
  ],
  authority: [(text) => parseAddress(`bob@${text}`), (text) => parseSender(`bob@${text}`)],
  'board id': [(text) => orRefused(isBoardId(text)), (text) => parseAddress(`board:${text}`)],
  'envelope id': [(text) => orRefused(isMessageId(text))],
  to: [parseAddress],
  from: [parseSender],
  Authorization: [parseAuthorization],
  'X-SVC-Timestamp': [parseTimestamp],
  'X-SVC-Nonce': [parseNonce],
  ts: [parseDateTime],
}

function orRefused(isValid: boolean): true | undefined {
  return isValid || undefined
}

// The gateway alone reads queries, and identity alone knows reserved names.
describe.each(kinds.filter(({ kind }) => !['limit', 'reserved name'].includes(kind)))(
  'spec $section: $kind',
  ({ kind, valid, refused }) => {
    const read = (text: string) => (PARSERS[kind] ?? []).map((parse) => parse(text))

    test.each(valid)('accepted: $about', ({ text, bytes, unix_seconds }) => {
      const found = read(text)
      expect(found.length).toBeGreaterThan(0)
      expect(found).not.toContain(undefined)
      if (bytes !== undefined) expect(found).toEqual([Uint8Array.from(Buffer.from(bytes, 'hex')), bytes.length / 2])
      if (unix_seconds !== undefined) expect(Math.floor(Number(found[0]) / 1_000)).toBe(unix_seconds)
      if (kind === 'public key') expect(formatPublicKey(found[0] as Uint8Array)).toBe(text.toLowerCase())
    })

    test.each(refused)('refused: $about', ({ text }) => {
      expect(read(text).filter((value) => value !== undefined)).toEqual([])
    })
  },
)

interface Body {
  about: string
  text?: string
  hex?: string
  code: string | null
  fault?: string
}

const outline = (bytes: Uint8Array) => parseOrOutline(bytes, { membersMax: 0, names: ENVELOPE_MEMBERS })

test.each(readVectors<{ cases: Body[] }>('refused-json.json').cases)('spec 2.5: $about: $code', (row) => {
  const bytes = row.text === undefined ? Buffer.from(row.hex ?? '', 'hex') : Buffer.from(row.text)
  for (const parse of [parseIJson, outline]) {
    const faults: string[] = []
    expect(
      codeOf(
        () => parse(bytes),
        (message) => faults.push(message),
      ),
    ).toBe(row.code)
    expect(faults).toEqual(row.fault === undefined ? [] : [row.fault])
  }
})

interface Sent {
  about: string
  section: string
  envelope: string
  code: string | null
  member?: string
}
/** Codes that need more than the envelope. */
const LATER = [
  'sender_mismatch',
  'message_too_large',
  'envelope_timestamp_out_of_range',
  'expired',
  'recipient_not_local',
  'recipient_unavailable',
  'invalid_reference',
]

test.each(readVectors<{ cases: Sent[] }>('refused-envelopes.json').cases)(
  'spec $section: an envelope: $about: $code',
  ({ envelope, code, member }) => {
    const bytes = Buffer.from(envelope)
    const ofShape = code === null || LATER.includes(code) ? null : code
    const faults: string[] = []
    const read = () => readEnvelope(parseIJson(bytes).value)
    expect(codeOf(read, (message) => faults.push(message))).toBe(ofShape)
    if (member !== undefined) expect(faults[0]).toContain(member)
    expect(codeOf(() => readEnvelope(outline(bytes).value, null))).toBe(ofShape)
  },
)

function codeOf(read: () => unknown, note: (message: string) => unknown = () => {}): string | null {
  try {
    read()
    return null
  } catch (error) {
    if (!(error instanceof IJsonError || error instanceof EnvelopeError)) throw error
    note(error.message)
    return error instanceof IJsonError ? 'invalid_json' : error.code
  }
}

interface Size {
  to: 'dm' | 'post'
  sealed: boolean
  text?: string
  times?: number
  bytes: number
  code_points?: number
  code: string | null
}

test.each(readVectors<{ sizes: Size[] }>('json.json').sizes)(
  'spec 6.5, 11.7: a $to of $bytes bytes and $code_points code points: $code',
  ({ to, text = '', times = 0, bytes, code_points, code }) => {
    const size: PayloadSize = { bytes, characters: code_points }
    if (code_points !== undefined) expect(bodySize(text.repeat(times))).toEqual(size)
    expect(sizeFault(size, to === 'post') === undefined).toBe(code === null)
  },
)
