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

test('reading the body of a connection that has already broken is invalid_request', async () => {
  const request = new IncomingMessage(new Socket())
  request.headers['content-length'] = '5'
  request.destroy()
  await new Promise((resolve) => request.once('close', resolve))
  await expect(createGuards().bodies.read(request)).rejects.toMatchObject({
    code: 'invalid_request',
  })
})
