/** The OpenAPI description, operation by operation; and /llms.txt. openapi-complete.test.ts has what holds for all of it. */
import { beforeAll, describe, expect, test } from 'vitest'
import { call, type HttpAnswer } from '../../support/client/agent.ts'
import { expectStamped } from '../../support/client/expect-answer.ts'
import { ApiDescription, type DescribedOperation, type OpenApi } from '../../support/description/api-description.ts'
import { OPERATIONS, type SpecOperation } from '../../support/description/operations.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

let h: SharedHarness
let openapi: HttpAnswer
let api: ApiDescription

beforeAll(async () => {
  h = await shareHarness('usual')
  openapi = await call(h.place, 'GET', '/openapi.json')
  api = new ApiDescription(openapi.body as OpenApi)
  return () => h[Symbol.asyncDispose]()
})

describe('spec 1.4: the OpenAPI description', () => {
  const lower = ({ method, path }: SpecOperation): [string, string] => [path, method.toLowerCase()]

  function describedOf(operation: SpecOperation): DescribedOperation {
    const [path, method] = lower(operation)
    const described = openapi.body.paths[path]?.[method]
    if (described === undefined) throw new Error(`${operation.method} ${path} is not described`)
    return described
  }

  test('spec 1.4: OpenAPI 3.1 of this version of the API, as JSON, the same at every gateway', async () => {
    expect(openapi.status).toBe(200)
    expect(openapi.headers.get('content-type')).toMatch(/^application\/json(;|$)/)
    expect(openapi.body).toMatchObject({ openapi: expect.stringMatching(/^3\.1\.\d+$/), info: { version: '2.0.0' } })
    for (const url of h.system.urls) {
      const again = await call({ ...h.place, url }, 'GET', '/openapi.json')
      expectStamped(again)
      expect(again.text).toBe(openapi.text)
    }
  })

  test.each(OPERATIONS)('spec 12.1: $method $path: who needs a signature', (operation) => {
    const { security } = describedOf(operation)
    const schemes = Object.keys(openapi.body.components.securitySchemes)
    expect(schemes).toHaveLength(1)
    const signed = { [String(schemes[0])]: [] }
    expect(security).toHaveLength(operation.auth === 'required' ? 1 : 2)
    expect(security).toContainEqual(signed)
    if (operation.auth === 'optional') expect(security).toContainEqual({})
  })

  test.each(OPERATIONS)('spec 12.1: $method $path: parameters of path, query and headers', (operation) => {
    const parameters = describedOf(operation).parameters.map((parameter) => api.resolve(parameter))
    const namesIn = (place: string): unknown[] =>
      parameters.filter((parameter) => parameter.in === place).map(({ name }) => name)
    expect(namesIn('path')).toEqual([...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]))
    expect(namesIn('query').sort()).toEqual([...operation.query].sort())
    expect(
      namesIn('header')
        .map((name) => String(name).toLowerCase())
        .sort(),
    ).toEqual([...(operation.headers ?? []), 'x-svc-nonce', 'x-svc-timestamp'].sort())
    for (const parameter of parameters) {
      expect(parameter.schema).toBeTypeOf('object')
      if (parameter.in === 'path') expect(parameter.required).toBe(true)
    }
    const limit = parameters.find(({ name }) => name === 'limit')
    if (limit !== undefined)
      expect(limit.schema).toMatchObject({ type: 'integer', minimum: 1, maximum: 100, default: 50 })
  })

  test.each(OPERATIONS)('spec 12.1: $method $path: its body', (operation) => {
    const { requestBody } = describedOf(operation)
    if (operation.body === undefined) {
      expect(requestBody).toBeUndefined()
      return
    }
    expect(requestBody?.required).toBe(true)
    expect(Object.keys(requestBody?.content ?? {})).toEqual(['application/json'])
    const schema = requestBody?.content['application/json']?.schema ?? {}
    expect(api.findMisfitsBy(schema, operation.body)).toEqual([])
    // spec 2.7: the object is closed
    expect(api.findMisfitsBy(schema, { ...(operation.body as object), undeclared: 1 })).not.toEqual([])
  })

  test.each(OPERATIONS)('spec 4.3: $method $path: its statuses', (operation) => {
    const { responses } = describedOf(operation)
    const own = [...operation.success, ...operation.faults, ...(operation.body === undefined ? [] : [415])]
    const everywhere = [400, 401, 403, 409, 413, 429, 500, 503]
    const expected = [...new Set([...own, ...everywhere])].sort((a, b) => a - b)
    expect(Object.keys(responses).map(Number)).toEqual(expected)
    for (const [status, { headers, content }] of Object.entries(responses)) {
      if (status === '304') continue // has no body
      const type = (Number(status) < 300 ? operation.type : undefined) ?? 'application/json'
      expect(Object.keys(content)).toEqual([type])
      expect(Object.keys(headers)).toContain('X-Request-Id')
      if (status === '429') expect(Object.keys(headers)).toContain('Retry-After')
      const schema = content[type]?.schema ?? {}
      const error = { error: { code: codeOf(Number(status), operation), message: 'text' } }
      if (Number(status) >= 400) expect(api.findMisfitsBy(schema, error)).toEqual([])
      expect(api.findMisfitsBy(schema, { ...error, undeclared: 1 })).not.toEqual([])
    }
  })

  /** A code that the operation answers with this status. */
  function codeOf(status: number, { path }: SpecOperation): string {
    const codes: Record<number, string> = {
      400: 'invalid_request',
      401: 'unauthenticated',
      403: path === '/v2/messages' ? 'sender_mismatch' : 'forbidden',
      404: 'not_found',
      409: 'nonce_replayed',
      413: 'body_too_large',
      415: 'unsupported_media_type',
      429: 'rate_limited',
      500: 'internal',
      503: 'unavailable',
    }
    return codes[status] ?? ''
  }
})

test('/llms.txt has the form of llmstxt.org, and each of its links leads to a document of this gateway', async () => {
  const { status, headers, text } = await call(h.place, 'GET', '/llms.txt')
  expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8'])
  const [before = '', ...sections] = text.split(/^## .+\n/m)
  expect(before).toMatch(/^# [^\n]+\n\n> [^\n]+\n\n[^#]+$/)
  const links = sections.flatMap((section) => section.trim().split('\n'))
  expect(links.filter((line) => !/^- \[[^\]]+\]\(\/[^)]*\): ./.test(line))).toEqual([])
  const targets = links.map((line) => /\((.*?)\)/.exec(line)?.[1] ?? '')
  expect(targets.length).toBeGreaterThan(2)
  for (const target of targets) expect((await call(h.place, 'GET', target)).status, target).toBe(200)
})
