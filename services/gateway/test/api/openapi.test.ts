import { Validator } from '@seriousme/openapi-schema-validator'
import { ERRORS } from '@svc/contracts/errors.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EXAMPLES } from '../../src/api/examples.ts'
import { createOperations } from '../../src/service.ts'
import { type Answer, type Harness, startHarness } from '../support/harness.ts'

/** The operations of spec 12.1 that spec 1.4 names. */
const SPECIFIED = [
  ['GET', '/.well-known/agent.json', 'optional'],
  ['GET', '/v2/health', 'optional'],
  ['POST', '/v2/challenges', 'optional'],
  ['POST', '/v2/agents/register', 'required'],
  ['GET', '/v2/agents', 'optional'],
  ['GET', '/v2/agents/{name}', 'optional'],
  ['GET', '/v2/me', 'required'],
  ['PATCH', '/v2/me', 'required'],
  ['POST', '/v2/me/revoke', 'required'],
  ['GET', '/v2/budget', 'required'],
  ['GET', '/v2/contacts', 'required'],
  ['PUT', '/v2/contacts/{agent}', 'required'],
  ['POST', '/v2/messages', 'required'],
  ['GET', '/v2/messages/{id}', 'optional'],
  ['POST', '/v2/messages/{id}/ack', 'required'],
  ['GET', '/v2/messages/{id}/receipts', 'required'],
  ['GET', '/v2/inbox', 'required'],
  ['GET', '/v2/export', 'required'],
  ['POST', '/v2/boards', 'required'],
  ['GET', '/v2/boards', 'optional'],
  ['GET', '/v2/boards/{board}', 'optional'],
  ['GET', '/v2/boards/{board}/members', 'required'],
  ['PUT', '/v2/boards/{board}/members/{agent}', 'required'],
  ['GET', '/v2/boards/{board}/messages', 'optional'],
  ['PUT', '/v2/boards/{board}/messages/{id}/visibility', 'required'],
  ['PUT', '/v2/messages/{id}/vote', 'required'],
  ['DELETE', '/v2/messages/{id}/vote', 'required'],
  ['GET', '/v2/events', 'required'],
  ['GET', '/v2/stream', 'required'],
  ['PUT', '/v2/webhook', 'required'],
  ['GET', '/v2/webhook', 'required'],
  ['DELETE', '/v2/webhook', 'required'],
] as const

interface Described {
  operationId: string
  security: object[]
  parameters: { $ref?: string; name?: string; in?: string }[]
  requestBody?: { required: boolean; content: Record<string, { examples: object }> }
  responses: Record<string, { headers: object; content: Record<string, { examples: Record<string, object> }> }>
}

interface Description {
  openapi: string
  paths: Record<string, Record<string, Described>>
  components: Record<string, Record<string, unknown>>
}

let h: Harness
let answer: Answer
let description: Description
beforeAll(async () => {
  h = await startHarness()
  answer = await h.send({ target: '/openapi.json' })
  description = answer.body as Description
})
afterAll(() => h[Symbol.asyncDispose]())

const described = () =>
  Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
/** A path that matches a template. */
const fill = (path: string) =>
  path
    .replace('{name}', 'nobody')
    .replace('{id}', 'message-1')
    .replace('{agent}', '1'.repeat(32))
    .replace('{board}', 'b'.repeat(20))

describe('spec 1.4: the OpenAPI description has the specification’s operations and the manifest, and no others', () => {
  test('every operation, with its authentication', () => {
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json; charset=utf-8' } })
    expect(description.openapi).toBe('3.1.0')
    const found = described().map(({ method, path, operation }) => [
      method,
      path,
      operation.security.length === 1 ? 'required' : 'optional',
    ])
    expect(found.sort()).toEqual([...SPECIFIED].map((row) => [...row]).sort())
  })

  test('every operation has a route, and every route of the API is an operation', () => {
    const routes = createOperations({ manifest: EXAMPLES.manifest } as Parameters<typeof createOperations>[0])
    expect(routes.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(
      described()
        .map(({ method, path }) => `${method} ${path}`)
        .sort(),
    )
  })

  const paths = [...new Set(SPECIFIED.map(([, path]) => path))]
  test.each(paths)('%s answers only the described methods', async (path) => {
    h.register('nobody')
    const routed: string[] = []
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']) {
      // An agent may be named like this path, which is another operation's.
      if (method === 'GET' && path === '/v2/agents/register') continue
      const { status } = await h.send({ method, target: fill(path) })
      if (status !== 404) routed.push(method)
    }
    const described = Object.keys(description.paths[path] ?? {}).map((method) => method.toUpperCase())
    expect(routed.sort()).toEqual(described.sort())
  })
})

describe('the description is consistent', () => {
  test('it is OpenAPI 3.1, by its own schema', async () => {
    expect(await new Validator().validate(JSON.parse(answer.text))).toMatchObject({ valid: true })
  })

  test('every reference has a target, and every component is referenced', () => {
    const references = new Set([...answer.text.matchAll(/"\$ref":"#\/components\/([^"]+)"/g)].map(([, path]) => path))
    const components = Object.entries(description.components)
      .filter(([kind]) => kind !== 'securitySchemes')
      .flatMap(([kind, named]) => Object.keys(named).map((name) => `${kind}/${name}`))
    expect([...references].sort()).toEqual(components.sort())
  })

  test('operation ids are unique, and names that a generated client can use', () => {
    const ids = described().map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
    for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z]+$/)
  })

  test('every parameter of a path is declared, and every operation takes the headers of a signature', () => {
    for (const { path, operation } of described()) {
      const inPath = operation.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)
      expect(inPath).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
      expect(operation.parameters.filter(({ $ref }) => $ref !== undefined)).toHaveLength(2)
    }
  })

  test('every body and every answer has an example, every answer X-Request-Id, 429 Retry-After', () => {
    for (const { operation } of described()) {
      if (operation.requestBody !== undefined) {
        expect(Object.keys(operation.requestBody.content['application/json']?.examples ?? {})).not.toEqual([])
      }
      for (const [status, { headers, content }] of Object.entries(operation.responses)) {
        expect(Object.keys(headers)).toContain('X-Request-Id')
        expect(Object.keys(headers).includes('Retry-After')).toBe(status === '429' || status === '503')
        const [described] = Object.values(content)
        if (status === '304') expect(described).toBeUndefined()
        else expect(Object.keys(described?.examples ?? {})).not.toEqual([])
      }
    }
  })

  test('no schema has several parts, because linters close each part and then take the members of the others for wrong', () => {
    expect(answer.text).not.toContain('"allOf"')
  })

  test('every integer has a format and bounds, every text a longest length, every list a largest size', () => {
    expect(unbounded(description, '#')).toEqual(
      [
        '#/paths//v2/stream/get/responses/200/content/text/event-stream/schema', // ends with the stream
        '#/components/schemas/SignedEnvelope/properties/ttl', // has no upper limit (spec 6.1)
        '#/components/schemas/SealedEnvelope/properties/ttl',
      ].sort(),
    )
  })

  test.each([
    ['UnixSeconds', 'int64'],
    ['EventCursor', 'int64'],
  ])('spec 2.1, 9.3: %s may exceed 32 bits', (name, format) => {
    expect(description.components.schemas?.[name]).toMatchObject({ type: 'integer', format, minimum: 0 })
  })

  test('spec 4.3: each error code is listed under its status', () => {
    for (const { operation } of described()) {
      for (const [status, { content }] of Object.entries(operation.responses)) {
        for (const code of Object.keys(content['application/json']?.examples ?? {})) {
          if (code !== 'answer') expect(ERRORS[code as keyof typeof ERRORS].status).toBe(Number(status))
        }
      }
    }
  })

  test.each([
    ['GET', '/v2/health', ['200', '400', '401', '409', '413', '429', '500', '503']],
    ['POST', '/v2/messages', ['200', '202', '400', '401', '403', '404', '409', '413', '415', '429', '500', '503']],
    ['POST', '/v2/messages/{id}/ack', ['200', '400', '401', '403', '404', '409', '413', '429', '500', '503']],
  ])('spec 4.3: %s %s', (method, path, statuses) => {
    expect(Object.keys(description.paths[path]?.[method.toLowerCase()]?.responses ?? {})).toEqual(statuses)
  })
})

test('spec 5.1: the manifest is at the path where clients look for it', async () => {
  expect(await h.send({ target: '/.well-known/agent.json' })).toMatchObject({
    status: 200,
    body: { authority: 'agents.test:8443', openapi: '/openapi.json', retention_days: 30 },
  })
})

/** Where a schema lacks a bound that a generated client needs. */
function unbounded(value: unknown, at: string): string[] {
  if (typeof value !== 'object' || value === null) return []
  const { type, enum: values, const: constant, example: _, examples: __, ...rest } = value as Record<string, unknown>
  const bounds: Record<string, readonly string[]> = {
    integer: ['format', 'minimum', 'maximum'],
    string: ['maxLength'],
    array: ['maxItems'],
  }
  const listed = values !== undefined || constant !== undefined
  const missing = listed ? [] : (bounds[String(type)] ?? []).filter((bound) => !Object.hasOwn(rest, bound))
  const inside = Object.entries(rest).flatMap(([key, part]) => unbounded(part, `${at}/${key}`))
  return [...(missing.length > 0 ? [at] : []), ...inside].sort()
}
