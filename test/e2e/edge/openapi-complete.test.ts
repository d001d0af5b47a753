/**
 * The OpenAPI description is complete: it has every operation of the specification, and each parameter, header, body,
 * status and code with a valid example.
 */
import { ERRORS, type ErrorCode } from '@svc/contracts/errors.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { call } from '../../support/client/agent.ts'
import { ApiDescription, type OpenApi } from '../../support/description/api-description.ts'
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
