/**
 * Checks of the HTTP edge that run before any service is called: sizes, types, JSON, queries, paths, methods and broken
 * HTTP. services/gateway/test/http/http.test.ts, or a table beside the code, has every variant of each check.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Agent, call } from '../../support/client/agent.ts'
import { expectError, expectStamped } from '../../support/client/expect-answer.ts'
import { exchange, openRaw, parseAnswers } from '../../support/client/raw-http.ts'
import { type Draft, draft, send } from '../../support/client/signed-request.ts'
import {
  ABSENT_AGENT_ID,
  bodyTextOf,
  OPERATIONS,
  type SpecOperation,
  targetOf,
} from '../../support/description/operations.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

const REQUEST_BYTES = 96 * 1024

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

describe('spec 3.9, 4.3: 413 body_too_large', () => {
  /** Pads with white space, which is valid JSON, so that only the length matters. */
  const padded = (text: string, bytes: number): string => text + ' '.repeat(bytes - Buffer.byteLength(text))

  test('spec 11.7: a whole request of 96 KiB is accepted, and one more byte is not', async () => {
    const body = JSON.stringify({ pubkey: alice.pubkey })
    const headers = { 'content-type': 'application/json' }
    const post = { method: 'POST', target: '/v2/challenges', headers }
    expect(await exchange(url, { ...post, body: padded(body, REQUEST_BYTES) })).toMatchObject({ status: 201 })
    expectError(await exchange(url, { ...post, body: padded(body, REQUEST_BYTES + 1) }), 413, 'body_too_large')
    const chunked = { ...post, headers: { ...headers, 'transfer-encoding': 'chunked' } }
    expect(await exchange(url, { ...chunked, body: padded(body, REQUEST_BYTES) })).toMatchObject({ status: 201 })
    expectError(await exchange(url, { ...chunked, body: padded(body, REQUEST_BYTES + 1) }), 413, 'body_too_large')
  })
})

describe('spec 3.10, 4.3: 415 unsupported_media_type', () => {
  test('spec 3.10: a body without a type', async () => {
    const edit: Draft['edit'] = ({ 'content-type': _, ...headers }) => headers
    expectError(await send(draft(alice, { method: 'PATCH', body: '{}', edit })), 415, 'unsupported_media_type')
  })

  test.each(withBody)('spec 3.10: $method $path', async (operation) => {
    const answer = await send(rightDraft(operation, { contentType: 'text/plain' }))
    expectError(answer, 415, 'unsupported_media_type')
  })

  test('ADR 22: an empty body may have a type, on an operation without a body', async () => {
    const headers = { 'content-type': 'application/json' }
    expect(await exchange(url, { target: '/v2/agents', headers })).toMatchObject({ status: 200 })
    expect(await exchange(url, { target: '/v2/agents', headers, body: '' })).toMatchObject({ status: 200 })
  })
})

describe('spec 2.5: 400 invalid_json', () => {
  // libs/envelope/src/i-json.test.ts has every form.
  test.each<[string, string | Uint8Array]>([
    ['a repeated member, once with an escape', '{"a":1,"\\u0061":1}'],
    ['__proto__, deep inside', '{"a":[{"__proto__":1}]}'],
    ['65 levels of arrays', '['.repeat(65) + ']'.repeat(65)],
  ])('spec 2.5: %s', async (_, body) => {
    const headers = { 'content-type': 'application/json' }
    expectError(await exchange(url, { method: 'POST', target: '/v2/challenges', headers, body }), 400, 'invalid_json')
    expectError(await send(draft(alice, { method: 'POST', target: '/v2/messages', body })), 400, 'invalid_json')
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

  const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'LOCK', 'PURGE', 'QUERY']
  // `register` is also a name, so that GET /v2/agents/register looks it up.
  const patternOf = (path: string) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
  const paths = [...new Set(OPERATIONS.map(({ path }) => path)), '/openapi.json', '/.well-known/agent.json']
  const unknown = paths.flatMap((path) => {
    const known = OPERATIONS.filter(({ path: pattern }) => patternOf(pattern).test(path)).map(({ method }) =>
      String(method),
    )
    const others = METHODS.filter((method) => !(known.length > 0 ? known : ['GET']).includes(method))
    return [{ path, others, target: targetOf({ ...(OPERATIONS[0] as SpecOperation), path }) }]
  })
  test.each(unknown)(
    'spec 3.11: every method of $path that is not in the specification',
    async ({ others, target }) => {
      for (const method of others) {
        expectError(await exchange(url, { method, target }), 404, 'not_found')
      }
      const head = await exchange(url, { method: 'HEAD', target })
      expect(head).toMatchObject({ status: 404, text: '' })
      expectStamped(head)
    },
  )

  test.each([
    ['GET', '/v2/agents/absent', undefined],
    ['GET', '/v2/messages/absent-message', undefined],
    ['POST', '/v2/messages/absent-message/ack', undefined],
    ['GET', '/v2/messages/absent-message/receipts', undefined],
    ['PUT', `/v2/contacts/${ABSENT_AGENT_ID}`, '{"state":"blocked"}'],
  ])('spec 7.16: a thing that does not exist: %s %s', async (method, target, body) => {
    expectError(await send(draft(alice, { method, target, body })), 404, 'not_found')
  })
})

describe('spec 4.1: broken HTTP is answered in the same shape', () => {
  test.each([['no request line', 'GARBAGE\r\n\r\n']])('spec 3.13, 4.1: %s', async (_, bytes) => {
    using connection = openRaw(url)
    connection.write(bytes)
    const [answer, ...others] = parseAnswers(await connection.ended)
    expectError(answer ?? none(), 400, 'invalid_request')
    expect(others).toEqual([])
  })
})

describe('spec 3.14: every answer', () => {
  test('spec 3.14: carries its own X-Request-Id, also if the client sends one', async () => {
    const headers = { 'x-request-id': 'mine' }
    const requests = [...Array(20).keys()].map((at) =>
      call(h.place, 'GET', at % 2 === 0 ? '/v2/health' : '/v2/nothing', { headers, url: h.system.urls[at % 2] ?? '' }),
    )
    const ids = (await Promise.all(requests)).map((answer) => answer.headers.get('x-request-id'))
    expect(new Set(ids).size).toBe(20)
    expect(ids).not.toContain('mine')
  })

  test.each(OPERATIONS)('spec 3.14: of $method $path carries X-Request-Id and Date', async (operation) => {
    expectStamped(await send(rightDraft(operation)))
  })
})

function none(): never {
  throw new Error('there is no answer')
}
