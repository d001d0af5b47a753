/** The system's description of itself: the discovery manifest, and the OpenAPI description compared with real answers. */
import { beforeAll, describe, expect, test } from 'vitest'
import { Agent, call, type HttpAnswer } from '../../support/client/agent.ts'
import { expectStamped } from '../../support/client/expect-answer.ts'
import { ApiDescription, type DescribedOperation, type OpenApi } from '../../support/description/api-description.ts'
import { expectedManifest } from '../../support/description/manifest.ts'
import { OPERATIONS, type SpecOperation } from '../../support/description/operations.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

let h: SharedHarness
let manifest: HttpAnswer
let openapi: HttpAnswer
let api: ApiDescription
let alice: Agent

beforeAll(async () => {
  h = await shareHarness('roomy')
  manifest = await call(h.place, 'GET', '/.well-known/agent.json')
  openapi = await call(h.place, 'GET', '/openapi.json')
  api = new ApiDescription(openapi.body as OpenApi)
  ;[alice] = await h.agents(1)
  return () => h[Symbol.asyncDispose]()
})

describe('spec 5.1: the discovery manifest', () => {
  test('spec 5.1: every member and value, and no others', () => {
    expect(manifest.status).toBe(200)
    expect(manifest.body).toEqual(
      expectedManifest({
        authority: h.system.authority,
        difficulty: 4,
        limits: { daily_free_units: 100_000, daily_hard_limit: 100_000, daily_introductions: 1_000 },
      }),
    )
  })

  test('spec 5.1: the same at every gateway, signed or not', async () => {
    for (const url of h.system.urls) {
      const again = await call({ ...h.place, url }, 'GET', '/.well-known/agent.json')
      expectStamped(again)
      expect(again.text).toBe(manifest.text)
      expect((await alice.get('/.well-known/agent.json', { url })).text).toBe(manifest.text)
    }
  })

  test('spec 5.1, 6.8: the system does what the manifest says', async () => {
    const { registration, limits, retention_days } = manifest.body
    const challenge = await call(h.place, 'POST', '/v2/challenges', { body: { pubkey: alice.pubkey } })
    expect(challenge.body).toMatchObject({ difficulty: registration.difficulty, algorithm: registration.algorithm })
    expect((await alice.get('/v2/budget')).body).toMatchObject({
      daily_free_units: limits.daily_free_units,
      daily_hard_limit: limits.daily_hard_limit,
      daily_introduction_limit: limits.daily_introductions,
    })
    expect((await alice.get('/v2/events')).body).toMatchObject({ retention_days })
    const { body: health } = await call(h.place, 'GET', '/v2/health')
    expect(health).toMatchObject({ service: manifest.body.service, version: manifest.body.version })
    expect((await call(h.place, 'GET', manifest.body.openapi)).text).toBe(openapi.text)
  })

  test('spec 3.3, 5.1: signatures and addresses use the authority of the manifest', async () => {
    const answer = await new Agent({ ...h.place, authority: manifest.body.authority }).register()
    expect((await answer.get('/v2/me')).body.address).toBe(`${answer.name}@${manifest.body.authority}`)
  })
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
