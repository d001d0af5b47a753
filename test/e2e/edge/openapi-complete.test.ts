/**
 * The OpenAPI description is complete: it has every operation of the specification, and each parameter, header, body,
 * status and code with a valid example. The check of answers against it finds every difference.
 */
import { ERRORS, type ErrorCode } from '@svc/contracts/errors.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Agent, call } from '../../support/client/agent.ts'
import { got } from '../../support/client/answers.ts'
import {
  ApiDescription,
  type OpenApi,
  type SeenAnswer,
  type SentRequest,
} from '../../support/description/api-description.ts'
import { SPECIFIED } from '../../support/description/specified.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

let h: SharedHarness
let description: ApiDescription
let alice: Agent
let bob: Agent

beforeAll(async () => {
  h = await shareHarness('usual')
  description = new ApiDescription((await call(h.place, 'GET', '/openapi.json')).body as OpenApi)
  ;[alice, bob] = await h.agents(2)
  await got(bob.patch('/v2/me', { inbox_policy: 'open' }))
  return () => h[Symbol.asyncDispose]()
})

const described = () =>
  Object.entries(description.document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
  )
const everyResponse = () =>
  described().flatMap(({ name, operation }) =>
    Object.entries(operation.responses).map(([status, response]) => ({ name: `${name}: ${status}`, status, response })),
  )

describe('spec 1.4: the description is complete', () => {
  test('spec 1.4, 12.1: every operation of the specification, and no others', () => {
    const names = described().map(({ name }) => name)
    expect(names.toSorted()).toEqual(SPECIFIED.toSorted())
  })

  test.each(SPECIFIED)('spec 12.1: %s: has a name, says who may call it, and has an answer for success', (name) => {
    const [operation] = described().flatMap((one) => (one.name === name ? [one.operation] : []))
    expect(operation?.operationId).toMatch(/^[a-z]+[A-Z]\w+$/)
    expect(operation?.security.length).toBeGreaterThan(0)
    expect(Object.keys(operation?.responses ?? {}).filter((status) => status.startsWith('2'))).not.toEqual([])
  })

  test('spec 4.3: every code, each under its status, with its text', () => {
    const codes = everyResponse().flatMap(({ name, status, response }) =>
      Object.entries(response.content['application/json']?.examples ?? {}).flatMap(([code, { value }]) => {
        if (code === 'answer') return []
        const { status: right, message } = ERRORS[code as ErrorCode]
        expect({ name, status: Number(status), value }).toEqual({
          name,
          status: right,
          value: { error: { code, message } },
        })
        return [code]
      }),
    )
    expect(Object.keys(ERRORS).filter((code) => !codes.includes(code))).toEqual([])
  })

  // test/judges/openapi/lint.test.ts checks that the schemas are valid and that the examples fit them.
  test('every body, answer and error has examples, every parameter and header a description and an example', () => {
    for (const { name, operation } of described()) {
      const { requestBody, responses, parameters } = operation
      const contents = [...(requestBody === undefined ? [] : [requestBody]), ...Object.values(responses)]
      for (const { content } of contents) {
        for (const { examples } of Object.values(content)) expect(Object.keys(examples), name).not.toEqual([])
      }
      const headers = Object.values(responses).flatMap((response) => Object.values(response.headers))
      for (const part of [...parameters, ...headers].map((one) => description.resolve(one))) {
        expect([name, typeof part.description, part.example]).toEqual([name, 'string', expect.anything()])
      }
    }
  })

  test('spec 3.14, 4.2, 9.6: the headers of every answer, Retry-After of every 429 and 503, WWW-Authenticate of every 401', () => {
    for (const { name, status, response } of everyResponse()) {
      const names = Object.keys(response.headers)
      expect(names, name).toEqual(expect.arrayContaining(['X-Request-Id', 'Date', 'Cache-Control']))
      expect(names.includes('Retry-After'), name).toBe(status === '429' || status === '503')
      expect(names.includes('WWW-Authenticate'), name).toBe(status === '401')
      for (const header of Object.values(response.headers)) expect(description.resolve(header).required).toBe(true)
    }
  })
})

describe('every answer in a test is checked against the description', () => {
  /** A sent message and its answer, as sent over the network. */
  async function exchangeOfAMessage(): Promise<{ request: SentRequest; answer: SeenAnswer }> {
    const body = JSON.stringify(alice.envelope(bob))
    const { status, headers, text } = await alice.post('/v2/messages', body)
    const signed = new Headers({ authorization: 'SVC x', 'x-svc-timestamp': '1', 'x-svc-nonce': 'ab'.repeat(16) })
    return {
      request: { method: 'POST', target: '/v2/messages', headers: signed, body },
      answer: { status, headers: new Headers(headers), text },
    }
  }

  test('a correct answer passes', async () => {
    const { request, answer } = await exchangeOfAMessage()
    expect(description.findMisfits(request, answer)).toEqual([])
    expect(description.findMisfitsOfSome(answer)).toEqual([])
  })

  const without = (headers: Headers, name: string): Headers => {
    const copy = new Headers(headers)
    copy.delete(name)
    return copy
  }
  const withHeader = (headers: Headers, name: string, value: string): Headers => {
    const copy = new Headers(headers)
    copy.set(name, value)
    return copy
  }
  const changed = (text: string, changes: object): string => JSON.stringify({ ...JSON.parse(text), ...changes })
  const error = (code: string): string => JSON.stringify({ error: { code, message: 'text' } })

  type Change = (exchange: { request: SentRequest; answer: SeenAnswer }) => {
    request?: Partial<SentRequest>
    answer?: Partial<SeenAnswer>
  }
  test.each<[string, Change]>([
    ['a member more', ({ answer }) => ({ answer: { text: changed(answer.text, { more: 1 }) } })],
    ['a member of another type', ({ answer }) => ({ answer: { text: changed(answer.text, { duplicate: 'no' }) } })],
    ['a value that is not listed', ({ answer }) => ({ answer: { text: changed(answer.text, { lane: 'other' }) } })],
    ['a member less', ({ answer }) => ({ answer: { text: changed(answer.text, { msg_id: undefined }) } })],
    ['no JSON', () => ({ answer: { text: '{' } })],
    ['another status', () => ({ answer: { status: 201 } })],
    ['a code of another operation', () => ({ answer: { status: 409, text: error('name_taken') } })],
    ['a code of another status', () => ({ answer: { status: 400, text: error('id_conflict') } })],
    ['an unknown code', () => ({ answer: { status: 400, text: error('other') } })],
    ['no X-Request-Id', ({ answer }) => ({ answer: { headers: without(answer.headers, 'x-request-id') } })],
    ['no Date', ({ answer }) => ({ answer: { headers: without(answer.headers, 'date') } })],
    ['no Retry-After', () => ({ answer: { status: 503, text: error('unavailable') } })],
    [
      'a header that is not described',
      ({ answer }) => ({ answer: { headers: withHeader(answer.headers, 'server', 'x') } }),
    ],
    [
      'another media type',
      ({ answer }) => ({ answer: { headers: withHeader(answer.headers, 'content-type', 'text/html') } }),
    ],
    ['a query that is not described', () => ({ request: { target: '/v2/messages?more=1' } })],
    [
      'a body that is not described',
      ({ request }) => ({ request: { body: changed(request.body ?? '', { more: 1 }) } }),
    ],
    ['no signature', () => ({ request: { headers: new Headers() } })],
    ['a path that is not described', () => ({ request: { target: '/v2/message' } })],
    ['a method that is not described', () => ({ request: { method: 'PUT' } })],
  ])('%s is found', async (_, change) => {
    const exchange = await exchangeOfAMessage()
    const { request, answer } = change(exchange)
    const misfits = description.findMisfits({ ...exchange.request, ...request }, { ...exchange.answer, ...answer })
    expect(misfits).not.toEqual([])
  })

  test('an answer outside every operation is an error of the same shape, or a document', async () => {
    const asked = { method: 'GET', target: '/v2/nothing', headers: new Headers(), body: undefined }
    const { status, headers, text } = await call(h.place, 'GET', '/v2/nothing')
    expect(description.findMisfits(asked, { status, headers, text })).toEqual([])
    expect(description.findMisfits(asked, { status, headers, text: error('forbidden') })).not.toEqual([])
    expect(description.findMisfits(asked, { status: 200, headers, text })).not.toEqual([])
    expect(description.findMisfits({ ...asked, target: '/docs' }, { status: 200, headers, text })).toEqual([])
  })
})
