import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { ServiceError } from '@svc/contracts/errors.ts'
import { describe, expect, test } from 'vitest'
import { createGuards } from '../../test/support/http-guards.ts'
import { parseJsonBody } from './body.ts'

function parse(text: string, contentType: string | undefined, contentEncoding?: string): unknown {
  try {
    return parseJsonBody({ bytes: Buffer.from(text), contentType, contentEncoding }, new Set()).value
  } catch (error) {
    if (error instanceof ServiceError) return error.code
    throw error
  }
}

describe('spec 3.10: nonempty bodies use Content-Type: application/json', () => {
  test.each([
    ['application/json', []],
    ['Application/JSON', []],
    ['application/json; charset=utf-8', []],
    ['application/json;charset="UTF-8"', []],
    ['application/json; profile=x', []],
    ['application/json;', []],
    ['application/json; profile="a; charset=latin1"', []],
    ['application/json; charset=utf-8; charset=latin1', 'unsupported_media_type'],
    ['application/json; charset="utf-8', 'unsupported_media_type'],
    ['application/json; charset=utf-8x', 'unsupported_media_type'],
    [`application/json;${'"'.repeat(16_000)}`, []],
    [`application/json;${'\\"'.repeat(8_001)}`, 'unsupported_media_type'],
    ['application/json; charset=latin1', 'unsupported_media_type'],
    ['application/json; charset=utf-16', 'unsupported_media_type'],
    ['application/jsonp', 'unsupported_media_type'],
    ['application/json-patch+json', 'unsupported_media_type'],
    ['application/problem+json', 'unsupported_media_type'],
    ['text/json', 'unsupported_media_type'],
    ['text/plain', 'unsupported_media_type'],
    ['multipart/form-data', 'unsupported_media_type'],
    ['', 'unsupported_media_type'],
    ['junk', 'unsupported_media_type'],
    [undefined, 'unsupported_media_type'],
  ])('%j', (contentType, result) => {
    expect(parse('[]', contentType)).toEqual(result)
  })

  test.each([
    [undefined, []],
    ['identity', []],
    ['gzip', 'unsupported_media_type'],
    ['br', 'unsupported_media_type'],
  ])('RFC 9110, 15.5.16: a coding that is not decoded is 415: %j', (coding, result) => {
    expect(parse('[]', 'application/json', coding)).toEqual(result)
  })

  test('415 is checked before parsing; an empty body needs no type, and is invalid_json', () => {
    expect(parse('{', 'text/plain')).toBe('unsupported_media_type')
    expect(parse('', 'text/plain')).toBe('invalid_json')
    expect(parse('', undefined)).toBe('invalid_json')
  })
})

// libs/envelope tests the parser itself.
test.each([
  ['{"a":1,"a":1}'],
  ['{"__proto__":1}'],
  ['"\\ud800"'],
  ['\ufeff{}'],
  ['1e400'],
  ['['.repeat(65) + ']'.repeat(65)],
])('spec 2.5: %j is 400 invalid_json', (text) => {
  expect(parse(text, 'application/json')).toBe('invalid_json')
})

test('spec 3.10: a Content-Type that is sent twice is none', async () => {
  const request = new IncomingMessage(new Socket())
  request.headers['content-type'] = 'application/json'
  request.rawHeaders.push('Content-Type', 'application/json', 'content-type', 'text/plain')
  expect((await createGuards().bodies.read(request)).contentType).toBeUndefined()
})

test('reading the body of a connection that has already broken is invalid_request', async () => {
  const request = new IncomingMessage(new Socket())
  request.headers['content-length'] = '5'
  request.destroy()
  await new Promise((resolve) => request.once('close', resolve))
  await expect(createGuards().bodies.read(request)).rejects.toMatchObject({
    code: 'invalid_request',
  })
})
