/**
 * The OpenAPI description is complete: it has every operation of the specification, and each parameter, header, body,
 * status and code with a valid example.
 */
import { ERRORS, type ErrorCode } from '@svc/contracts/errors.ts'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { beforeAll, describe, expect, test } from 'vitest'
import { call } from '../../support/client/agent.ts'
import { ApiDescription, type Json, type OpenApi } from '../../support/description/api-description.ts'
import { SPECIFIED } from '../../support/description/specified.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

let h: SharedHarness
let description: ApiDescription

beforeAll(async () => {
  h = await shareHarness('usual')
  description = new ApiDescription((await call(h.place, 'GET', '/openapi.json')).body as OpenApi)
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

  test('every schema is valid JSON Schema 2020-12, and every body, answer and error has examples that fit', () => {
    for (const [path, methods] of Object.entries(description.document.paths)) {
      for (const [method, { requestBody, responses }] of Object.entries(methods)) {
        const at = `paths/${encodeURIComponent(path.replaceAll('/', '~1'))}/${method}`
        const contents = [
          ...(requestBody === undefined ? [] : [[`${at}/requestBody`, requestBody.content] as const]),
          ...Object.entries(responses).map(([status, { content }]) => [`${at}/responses/${status}`, content] as const),
        ]
        for (const [place, content] of contents) {
          for (const [type, { examples }] of Object.entries(content)) {
            expect(Object.keys(examples), place).not.toEqual([])
            for (const { value } of Object.values(examples)) {
              const pointer = `${place}/content/${encodeURIComponent(type.replaceAll('/', '~1'))}/schema`
              expect({ place, misfits: description.findMisfitsOf(pointer, value) }).toEqual({ place, misfits: [] })
            }
          }
        }
      }
    }
  })

  test('every parameter and every header has a description, and an example that fits its schema', () => {
    const ajv = new Ajv2020({ strict: true })
    formats.default(ajv)
    const parameters = described().flatMap(({ name, operation }) =>
      operation.parameters.map((parameter) => [name, description.resolve(parameter)] as const),
    )
    const headers = everyResponse().flatMap(({ name, response }) =>
      Object.values(response.headers).map((header) => [name, description.resolve(header)] as const),
    )
    for (const [name, { description: text, schema, example }] of [...parameters, ...headers]) {
      const { default: _, ...rules } = description.resolve(schema as Json)
      expect({ name, text, fits: ajv.validate(rules, example) }).toEqual({ name, text, fits: true })
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
