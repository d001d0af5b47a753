/**
 * Checks of the HTTP edge that depend on the operation: types, members, queries, bodies and limits. What does not depend on it is
 * tested in services/gateway/test/http/http.test.ts.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Agent } from '../../support/client/agent.ts'
import { expectError } from '../../support/client/expect-answer.ts'
import { exchange, openRaw, parseAnswers } from '../../support/client/raw-http.ts'
import { type Draft, draft, send } from '../../support/client/signed-request.ts'
import { bodyTextOf, OPERATIONS, type SpecOperation, targetOf } from '../../support/description/operations.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

let h: SharedHarness
let alice: Agent
let url: string

beforeAll(async () => {
  h = await shareHarness('usual')
  const [first] = await h.agents(1)
  if (first === undefined) throw new Error('one agent is needed')
  alice = first
  url = h.place.url
  return () => h[Symbol.asyncDispose]()
})

/** A correct call of the operation by alice. It names things that do not exist. */
function rightDraft(operation: SpecOperation, changes: Partial<Draft> = {}): Draft {
  // a registration or a challenge is signed by the key in its body (spec 3.8)
  const body = bodyTextOf(operation)?.replace(/"ed25519:[0-9a-f]{64}"/, JSON.stringify(alice.pubkey))
  return draft(alice, { method: operation.method, target: targetOf(operation), body, ...changes })
}

const withBody = OPERATIONS.filter(({ body }) => body !== undefined)
const withoutBody = OPERATIONS.filter(({ body }) => body === undefined)
const lists = OPERATIONS.filter(({ query }) => query.includes('limit'))

describe('spec 3.10, 4.3: 415 unsupported_media_type', () => {
  test('spec 3.10: a body without a type', async () => {
    const edit: Draft['edit'] = ({ 'content-type': _, ...headers }) => headers
    expectError(await send(draft(alice, { method: 'PATCH', body: '{}', edit })), 415, 'unsupported_media_type')
  })

  test.each(withBody)('spec 3.10: $method $path', async (operation) => {
    const answer = await send(rightDraft(operation, { contentType: 'text/plain' }))
    expectError(answer, 415, 'unsupported_media_type')
  })
})

describe('spec 2.7: 400 invalid_request', () => {
  test.each(withBody)('spec 2.7: a member that $method $path does not declare', async (operation) => {
    const right = rightDraft(operation)
    const body = JSON.stringify({ ...JSON.parse(String(right.body)), undeclared: null })
    expectError(await send({ ...right, body }), 400, 'invalid_request')
  })

  test.each(OPERATIONS)('spec 3.12: a query parameter that $method $path does not declare', async (operation) => {
    const target = `${targetOf(operation)}?undeclared=1`
    expectError(await send(rightDraft(operation, { target })), 400, 'invalid_request')
  })

  const declared = OPERATIONS.flatMap(({ query, ...operation }) => query.map((name) => ({ ...operation, query, name })))
  const VALUES: Record<string, string> = {
    limit: '5',
    lane: 'inbox',
    unacked: 'true',
    thread_id: 'thread-1',
    after: '1',
  }
  test.each(declared)('spec 3.12: $name twice on $method $path', async ({ name, ...operation }) => {
    const target = `${targetOf(operation)}?${name}=${VALUES[name]}&${name}=${VALUES[name]}`
    expectError(await send(rightDraft(operation, { target })), 400, 'invalid_request')
  })

  test.each(withoutBody)('spec 3.10: a body on $method $path, which has none', async (operation) => {
    expectError(await send(rightDraft(operation, { body: '{}' })), 400, 'invalid_request')
  })
})

describe('spec 11.7: list page size', () => {
  async function statusesOf(operation: SpecOperation, limits: readonly string[]): Promise<Record<string, string>> {
    const answers = await Promise.all(
      limits.map((limit) => send(rightDraft(operation, { target: `${targetOf(operation)}?limit=${limit}` }))),
    )
    return Object.fromEntries(
      answers.map(({ status, body }, at) => [limits[at], `${status} ${body.error?.code ?? ''}`]),
    )
  }

  test.each(lists)('spec 3.12: $path accepts a limit of 1 to 100', async (operation) => {
    // a list of an unknown board
    const taken = operation.path.includes('{') ? '404 not_found' : '200 '
    const refused = '400 invalid_request'
    expect(await statusesOf(operation, ['0', '1', '100', '101'])).toEqual({
      0: refused,
      1: taken,
      100: taken,
      101: refused,
    })
  })
})

describe('spec 3.11, 4.3: 404 not_found', () => {
  test('spec 3.11: an unknown path, signed or not', async () => {
    const target = '/v2/%2e%2e/v2/me'
    expectError(await exchange(url, { target }), 404, 'not_found')
    expectError(await send(draft(alice, { target })), 404, 'not_found')
  })
})

describe('spec 4.1: broken HTTP is answered in the same shape', () => {
  test('spec 3.13, 4.1: no request line', async () => {
    using connection = openRaw(url)
    connection.write('GARBAGE\r\n\r\n')
    const [answer, ...others] = parseAnswers(await connection.ended)
    expectError(answer ?? none(), 400, 'invalid_request')
    expect(others).toEqual([])
  })
})

function none(): never {
  throw new Error('there is no answer')
}
