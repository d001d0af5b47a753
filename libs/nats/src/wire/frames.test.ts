import { ServiceError } from '@svc/contracts/errors.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeReply, decodeRequest, encodeError, encodeReply, encodeRequest, encodeTextReply } from './frames.ts'

const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00`
const json = fc.jsonValue().map((value): unknown => JSON.parse(JSON.stringify(value)))

describe('several requests in one message, each with its own answer', () => {
  test('a request survives encoding, on one line', () => {
    fc.assert(
      fc.property(json, fc.nat(), (request, deadlineMs) => {
        const line = encodeRequest(request, { traceparent, deadlineMs })
        expect(line).not.toContain('\n')
        expect(decodeRequest(line)).toEqual({ request, context: { traceparent, deadlineMs } })
      }),
    )
  })

  test('an answer survives encoding, on one line', () => {
    fc.assert(
      fc.property(json, json, fc.nat(), (reply, meta, index) => {
        const text = JSON.stringify(reply)
        const lines = [encodeReply(index, reply), encodeTextReply(index, { meta, text })]
        expect(lines.join('')).not.toContain('\n')
        expect(lines.map(decodeReply)).toEqual([
          { index, kind: 'json', reply },
          { index, kind: 'text', reply: { meta, text } },
        ])
      }),
    )
  })

  test('an error arrives complete; an unknown code of a newer peer becomes internal', () => {
    const sent = new ServiceError('budget_exhausted', { retryAfterSeconds: 7, detail: 'two\nlines' })
    const line = decodeReply(encodeError(3, sent))
    expect(line).toMatchObject({ index: 3, kind: 'error', error: { code: 'budget_exhausted', retryAfterSeconds: 7 } })
    expect(decodeReply('3-{"code":"of_tomorrow"}')).toMatchObject({ error: { code: 'internal' } })
  })

  test.each<unknown>([
    null,
    'unavailable',
    {},
    { code: 'constructor' },
    { code: ['unavailable'] },
    { code: 'rate_limited', detail: { secret: 1 } },
    { code: 'rate_limited', retryAfterSeconds: '7\r\nx: y' },
    { code: 'rate_limited', retryAfterSeconds: -1 },
    { code: 'rate_limited', retryAfterSeconds: 1.5 },
  ])('an error of another form becomes internal: %j', (data) => {
    expect(decodeReply(`0-${JSON.stringify(data)}`)).toMatchObject({ kind: 'error', error: { code: 'internal' } })
  })

  test('an error takes no other members from the other process', () => {
    const line = decodeReply('0-{"code":"not_found","cause":{"status":1},"stack":"x"}')
    expect(line.kind === 'error' && 'cause' in line.error).toBe(false)
  })

  test.each([
    '',
    ' ',
    'x',
    '1',
    '1 2',
    'x y {}',
    '5 t {',
    `5 ${traceparent} {`,
    `5 ${traceparent}\r {}`,
    `5 ${'x'.repeat(52)}-01 {}`,
    `Infinity ${traceparent} {}`,
  ])('%j is not a request', (line) => {
    expect(() => decodeRequest(line)).toThrow(SyntaxError)
  })

  test.each(['', '+{}', 'x+{}', '1', '1*{}', '1={}', '1+{'])('%j is not an answer', (line) => {
    expect(() => decodeReply(line)).toThrow(SyntaxError)
  })
})
