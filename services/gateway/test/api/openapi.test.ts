import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EXAMPLES } from '../../src/api/examples.ts'
import { createOperations } from '../../src/service.ts'
import { type Answer, type Harness, startHarness } from '../support/harness.ts'

interface Description {
  paths: Record<string, Record<string, object>>
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
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
// test/e2e/edge compares the description with the specification.
describe('spec 1.4: the OpenAPI description', () => {
  test('every operation has a route, and every route of the API is an operation', () => {
    const routes = createOperations({ manifest: EXAMPLES.manifest } as Parameters<typeof createOperations>[0])
    expect(routes.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(described().sort())
  })
})

// test/judges/openapi has linters, a validating proxy and generated clients judge it.
describe('the description is consistent', () => {
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
