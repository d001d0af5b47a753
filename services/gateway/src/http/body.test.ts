import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { ServiceError } from '@svc/contracts/errors.ts'
import { expect, test } from 'vitest'
import { createGuards } from '../../test/support/http-guards.ts'
import { parseJsonBody } from './body.ts'

function parse(text: string, contentType: string | undefined): unknown {
  try {
    return parseJsonBody({ bytes: Buffer.from(text), contentType, contentEncoding: undefined }, new Set()).value
  } catch (error) {
    if (error instanceof ServiceError) return error.code
    throw error
  }
}

// docs/vectors/refused-requests.json has the types and codings that are refused.
test('spec 3.10: 415 is checked before parsing; an empty body needs no type, and is invalid_json', () => {
  expect(parse('[]', 'application/json;')).toEqual([])
  expect(parse('{', 'text/plain')).toBe('unsupported_media_type')
  expect(parse('', 'text/plain')).toBe('invalid_json')
  expect(parse('', undefined)).toBe('invalid_json')
})

// docs/vectors/refused-requests.json has the simple cases.
test.each([
  ['application/json; profile="a; charset=latin1"', []],
  ['application/json; charset=utf-8; charset=latin1', 'unsupported_media_type'],
  ['application/json; charset="utf-8', 'unsupported_media_type'],
  ['application/json; charset=utf-8x', 'unsupported_media_type'],
  [`application/json;${'"'.repeat(16_000)}`, []],
  [`application/json;${'\\"'.repeat(8_001)}`, 'unsupported_media_type'],
])('spec 3.10: parameters of a media type: %j', (contentType, result) => {
  expect(parse('[]', contentType)).toEqual(result)
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
