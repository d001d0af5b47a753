/** What the HTTP edge does before any service is asked: sizes, types, JSON, queries, paths, methods, broken HTTP. */
import { once } from 'node:events'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Agent, call } from '../support/client/agent.ts'
import { expectError, expectStamped } from '../support/client/expect-answer.ts'
import { exchange, openRaw, parseAnswers } from '../support/client/raw-http.ts'
import { type Draft, draft, send } from '../support/client/signed-request.ts'
import {
  ABSENT_AGENT_ID,
  bodyTextOf,
  OPERATIONS,
  type SpecOperation,
  targetOf,
} from '../support/description/operations.ts'
import { eventually } from '../support/eventually.ts'
import { type SharedHarness, shareHarness } from '../support/system/harness.ts'

const REQUEST_BYTES = 96 * 1024

let h: SharedHarness
let alice: Agent
let url: string

beforeAll(async () => {
  h = await shareHarness('usual')
  const [first] = await h.agents(1)
  if (first === undefined) throw new Error('one agent was asked for')
  alice = first
  url = h.place.url
  return () => h[Symbol.asyncDispose]()
})

/** The operation with everything right, called by alice; what it names does not exist. */
function rightDraft(operation: SpecOperation, changes: Partial<Draft> = {}): Draft {
  // The key of a registration and of a challenge is that of the body (spec 3.8).
  const body = bodyTextOf(operation)?.replace(/"ed25519:[0-9a-f]{64}"/, JSON.stringify(alice.pubkey))
  return draft(alice, { method: operation.method, target: targetOf(operation), body, ...changes })
}

const withBody = OPERATIONS.filter(({ body }) => body !== undefined)
const withoutBody = OPERATIONS.filter(({ body }) => body === undefined)
const lists = OPERATIONS.filter(({ query }) => query.includes('limit'))

describe('spec 3.9, 4.3: 413 body_too_large', () => {
  /** White space is JSON, so that the length alone decides. */
  const padded = (text: string, bytes: number): string => text + ' '.repeat(bytes - Buffer.byteLength(text))

  test('spec 11.7: a whole request of 96 KiB is taken, and one byte more is not', async () => {
    const body = JSON.stringify({ pubkey: alice.pubkey })
    const headers = { 'content-type': 'application/json' }
    const post = { method: 'POST', target: '/v2/challenges', headers }
    expect(await exchange(url, { ...post, body: padded(body, REQUEST_BYTES) })).toMatchObject({ status: 201 })
    expectError(await exchange(url, { ...post, body: padded(body, REQUEST_BYTES + 1) }), 413, 'body_too_large')
    const chunked = { ...post, headers: { ...headers, 'transfer-encoding': 'chunked' } }
    expect(await exchange(url, { ...chunked, body: padded(body, REQUEST_BYTES) })).toMatchObject({ status: 201 })
    expectError(await exchange(url, { ...chunked, body: padded(body, REQUEST_BYTES + 1) }), 413, 'body_too_large')
  })

  test('spec 11.7: it is bytes that count, not characters', async () => {
    const body = JSON.stringify({ pubkey: '€'.repeat(33_000) })
    const headers = { 'content-type': 'application/json' }
    expectError(await exchange(url, { method: 'POST', target: '/v2/challenges', headers, body }), 413, 'body_too_large')
  })

  test.each([
    ['POST', '/v2/messages'],
    ['GET', '/v2/health'],
    ['GET', '/v2/me'],
    ['POST', '/v2/nothing'],
    ['DELETE', '/v2/me'],
    ['OPTIONS', '/v2/me'],
    ['GET', '/openapi.json'],
  ])('spec 3.5: on every path, before its signature: %s %s', async (method, target) => {
    const headers = { 'content-type': 'text/plain' }
    expectError(
      await exchange(url, { method, target, headers, body: '{'.repeat(REQUEST_BYTES + 1) }),
      413,
      'body_too_large',
    )
  })

  const HEAD = 'POST /v2/challenges HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n'
  test.concurrent.each([
    ['its declared length', `${HEAD}content-length: ${REQUEST_BYTES + 1}\r\n\r\n`],
    ['its declared length, beyond what a double holds', `${HEAD}content-length: 99999999999999999\r\n\r\n`],
    ['its declared length, with Expect', `${HEAD}expect: 100-continue\r\ncontent-length: ${REQUEST_BYTES + 1}\r\n\r\n`],
    [
      'one chunk that is not over yet',
      `${HEAD}transfer-encoding: chunked\r\n\r\n20000\r\n${' '.repeat(REQUEST_BYTES + 1)}`,
    ],
    [
      'many chunks, the last of which is not there',
      `${HEAD}transfer-encoding: chunked\r\n\r\n${`1000\r\n${' '.repeat(4096)}\r\n`.repeat(25)}`,
    ],
  ])('spec 3.9: it is answered and the connection closed on the strength of %s', async (_, bytes) => {
    using connection = openRaw(url)
    connection.write(bytes)
    // The other end closes after its answer, although this one has more to say.
    const [answer, ...others] = parseAnswers(await connection.ended)
    expectError(answer ?? none(), 413, 'body_too_large')
    expect(others).toEqual([])
  })

  test('spec 3.9: what is too large is never read to its end', async () => {
    using connection = openRaw(url)
    const { socket } = connection
    connection.write(`${HEAD}content-length: 1000000000\r\n\r\n`)
    const block = Buffer.alloc(64 * 1024, ' ')
    const limit = 100 * 1024 * 1024 // far more than the buffers between the two ends hold
    let accepted = 0
    while (!socket.destroyed && accepted < limit) {
      if (!socket.write(block)) await Promise.race([once(socket, 'drain').catch(() => {}), connection.ended])
      accepted = socket.bytesWritten - socket.writableLength
    }
    expect(accepted).toBeLessThan(limit)
    expectError(parseAnswers(await connection.ended)[0] ?? none(), 413, 'body_too_large')
  })
})

describe('spec 3.10, 4.3: 415 unsupported_media_type', () => {
  test.each([
    ['text/plain'],
    ['application/x-www-form-urlencoded'],
    ['multipart/form-data; boundary=x'],
    ['text/json'],
    ['application/jsonl'],
    ['application/json-patch+json'],
    ['application/problem+json'],
    ['application'],
    ['*/*'],
    [''],
  ])('spec 3.10: a body of type %j', async (contentType) => {
    expectError(await send(draft(alice, { method: 'PATCH', body: '{}', contentType })), 415, 'unsupported_media_type')
  })

  test('spec 3.10: a body of no type', async () => {
    const edit: Draft['edit'] = ({ 'content-type': _, ...headers }) => headers
    expectError(await send(draft(alice, { method: 'PATCH', body: '{}', edit })), 415, 'unsupported_media_type')
  })

  test.each([
    ['application/json'],
    ['Application/JSON'],
    ['application/json; charset=utf-8'],
    ['application/json;charset=UTF-8'],
    ['application/json ; charset="utf-8"'],
  ])('RFC 9110, 8.3.1: %s is application/json', async (contentType) => {
    expect(await send(draft(alice, { method: 'PATCH', body: '{}', contentType }))).toMatchObject({ status: 200 })
  })

  test.each(withBody)('spec 3.10: $method $path', async (operation) => {
    const answer = await send(rightDraft(operation, { contentType: 'text/plain' }))
    expectError(answer, 415, 'unsupported_media_type')
  })

  test('ADR 22: an empty body may have a type, on an operation that takes none', async () => {
    const headers = { 'content-type': 'application/json' }
    expect(await exchange(url, { target: '/v2/agents', headers })).toMatchObject({ status: 200 })
    expect(await exchange(url, { target: '/v2/agents', headers, body: '' })).toMatchObject({ status: 200 })
  })
})

describe('spec 2.5: 400 invalid_json', () => {
  const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
  const bytes = (...parts: (string | number[])[]): Uint8Array =>
    Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Uint8Array.from(part))))

  const invalid: [string, string | Uint8Array][] = [
    ['nothing', ''],
    ['white space', ' \n'],
    ['no JSON', 'hello'],
    ['half an object', '{"pubkey":'],
    ['two values', '{}{}'],
    ['something behind it', '{} x'],
    ['a trailing comma', '{"a":1,}'],
    ['a trailing comma in an array', '[1,]'],
    ['single quotes', "{'a':1}"],
    ['a name without quotes', '{a:1}'],
    ['a comment', '{}//'],
    ['NaN', '{"a":NaN}'],
    ['Infinity', '{"a":-Infinity}'],
    ['a leading zero', '{"a":01}'],
    ['a leading plus', '{"a":+1}'],
    ['a number that ends with its point', '{"a":1.}'],
    ['a hex number', '{"a":0x1}'],
    ['an unknown escape', '{"a":"\\x"}'],
    ['half a \\u escape', '{"a":"\\u00"}'],
    ['a line feed in a string', '{"a":"\n"}'],
    ['a NUL in a string that is not escaped', '{"a":"\0"}'],
    ['a NUL behind it', '{}\0'],
    ['a form feed as white space', '{}\f'],
    ['a no-break space as white space', '{}\u00a0'],
    ['a line separator as white space', '{}\u2028'],
    ['a member twice', '{"a":1,"a":1}'],
    ['a member twice, far apart', `{"a":1,"b":{"a":1},"c":[${'0,'.repeat(99)}0],"a":2}`],
    ['a member twice, deep inside', '{"a":[{"b":{"c":1,"c":2}}]}'],
    ['a member twice, one of them escaped', '{"a":1,"\\u0061":1}'],
    ['a member twice, escaped in two ways', '{"\\u00e9":1,"\\u00E9":1}'],
    ['the empty name twice', '{"":1,"":2}'],
    ['a lone high surrogate', '{"a":"\\ud800"}'],
    ['a lone low surrogate', '{"a":"\\udc00"}'],
    ['surrogates in the wrong order', '{"a":"\\udc00\\ud800"}'],
    ['a high surrogate before another character', '{"a":"\\ud800x"}'],
    ['a lone surrogate in a name', '{"\\ud800":1}'],
    ['a lone surrogate in an array', '["\\udfff"]'],
    ['__proto__', '{"__proto__":{}}'],
    ['__proto__, null', '{"__proto__":null}'],
    ['__proto__, deep inside', '{"a":[{"__proto__":1}]}'],
    ['__proto__, escaped', '{"\\u005f_proto\\u005f_":1}'],
    ['a byte order mark', bytes([0xef, 0xbb, 0xbf], '{}')],
    ['UTF-16, big end first', bytes([0xfe, 0xff, 0x00, 0x7b, 0x00, 0x7d])],
    ['UTF-16, little end first', bytes([0x7b, 0x00, 0x7d, 0x00])],
    ['1e400', '{"a":1e400}'],
    ['-1e400', '{"a":-1e400}'],
    ['a number of 400 digits', `{"a":${'9'.repeat(400)}}`],
    ['65 levels of arrays', nested(65)],
    ['65 levels, the first an object', `{"a":${nested(64)}}`],
    ['65 levels of objects', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`],
    ['40,000 levels', nested(40_000)],
    ['40,000 levels that nobody closes', '['.repeat(80_000)],
    ['a byte that UTF-8 has not', bytes('{"a":"', [0xff], '"}')],
    ['a continuation byte alone', bytes('{"a":"', [0x80], '"}')],
    ['half a character', bytes('{"a":"', [0xe2, 0x82], '"}')],
    ['an overlong character', bytes('{"a":"', [0xc0, 0xaf], '"}')],
    ['a surrogate in UTF-8', bytes('{"a":"', [0xed, 0xa0, 0x80], '"}')],
    ['a code point beyond the last', bytes('{"a":"', [0xf4, 0x90, 0x80, 0x80], '"}')],
    ['a byte that UTF-8 has not, outside strings', bytes('{}', [0xff])],
  ]
  test.each(invalid)('spec 2.5: %s', async (_, body) => {
    const headers = { 'content-type': 'application/json' }
    expectError(await exchange(url, { method: 'POST', target: '/v2/challenges', headers, body }), 400, 'invalid_json')
    expectError(await send(draft(alice, { method: 'POST', target: '/v2/messages', body })), 400, 'invalid_json')
  })

  const valid: [string, string][] = [
    ['64 levels of arrays', nested(64)],
    ['64 levels, the first an object', `{"a":${nested(63)}}`],
    ['64 levels beside 64 levels', `[${nested(63)},${nested(63)}]`],
    ['brackets inside a string, which are no levels', JSON.stringify({ a: '['.repeat(1000) })],
    ['the largest double', '{"a":1.7976931348623157e308}'],
    ['a number that is too small for a double', '{"a":1e-400}'],
    ['an integer that is too precise for a double', '{"a":123456789012345678901234567890}'],
    ['a fraction that is too precise for a double', '{"a":0.1000000000000000055511151231257827}'],
    ['an escaped NUL', '{"a":"\\u0000"}'],
    ['a surrogate pair', '{"a":"\\ud83d\\ude00"}'],
    ['one name in two objects', '{"a":{"b":1},"c":{"b":1}}'],
    ['names that differ in case', '{"a":1,"A":1}'],
    ['names that are not the same before normalization', '{"\\u00e9":1,"e\\u0301":1}'],
    ['names that every object inherits', '{"constructor":1,"toString":1,"hasOwnProperty":1}'],
    ['__proto__ as a value', '{"a":"__proto__"}'],
    ['white space of all four kinds', ' \t\r\n{ "a" :\t1 }\r\n'],
    ['a string at the top', '"x"'],
    ['null at the top', 'null'],
    ['an array at the top', '[]'],
  ]
  test.each(valid)('spec 2.5: I-JSON, so refused for what it says alone: %s', async (_, body) => {
    const headers = { 'content-type': 'application/json' }
    const answer = await exchange(url, { method: 'POST', target: '/v2/challenges', headers, body })
    expectError(answer, 400, 'invalid_request')
  })
})

describe('spec 2.7: 400 invalid_request', () => {
  test.each(withBody)('spec 2.7: a member that $method $path does not declare', async (operation) => {
    const right = rightDraft(operation)
    for (const name of ['undeclared', 'constructor', 'toString', '']) {
      const body = JSON.stringify({ ...JSON.parse(String(right.body)), [name]: null })
      expectError(await send({ ...rightDraft(operation), body }), 400, 'invalid_request')
    }
  })

  test.each(OPERATIONS)('spec 3.12: a query parameter that $method $path does not declare', async (operation) => {
    for (const query of [
      'undeclared=1',
      'undeclared',
      '=',
      '=1',
      'LIMIT=1',
      '__proto__=1',
      'toString=1',
      'limit[]=1',
    ]) {
      const target = `${targetOf(operation)}?${query}`
      expectError(await send(rightDraft(operation, { target })), 400, 'invalid_request')
    }
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
    const one = `${name}=${VALUES[name]}`
    const encoded = `%${Buffer.from(name).toString('hex', 0, 1)}${name.slice(1)}=${VALUES[name]}`
    for (const query of [`${one}&${one}`, `${one}&${name}=`, `${name}&${one}`, `${one}&${encoded}`]) {
      expectError(
        await send(rightDraft(operation, { target: `${targetOf(operation)}?${query}` })),
        400,
        'invalid_request',
      )
    }
  })

  test('spec 3.12: a query that is no percent-encoded UTF-8', async () => {
    for (const query of ['after=%', 'after=%zz', 'after=%ff', '%ff=1', 'after=%c0%af', 'after=%ed%a0%80']) {
      expectError(await call(h.place, 'GET', `/v2/agents?${query}`), 400, 'invalid_request')
    }
  })

  test.each(withoutBody)('spec 3.10: a body on $method $path, which takes none', async (operation) => {
    for (const body of ['{}', 'null', ' ', 'x']) {
      expectError(await send(rightDraft(operation, { body })), 400, 'invalid_request')
    }
    expectError(await send(rightDraft(operation, { body: 'x', contentType: 'text/plain' })), 400, 'invalid_request')
  })

  test.each<[string, string, unknown]>([
    ['POST', '/v2/challenges', {}],
    ['POST', '/v2/challenges', { pubkey: null }],
    ['POST', '/v2/challenges', { pubkey: 1 }],
    ['POST', '/v2/challenges', { pubkey: ['x'] }],
    ['POST', '/v2/agents/register', { pubkey: 'own' }],
    ['POST', '/v2/agents/register', { name: 1, pubkey: 'own', challenge: 'x', nonce: '1' }],
    ['POST', '/v2/agents/register', { name: 'name', pubkey: 'own', challenge: null, nonce: '1' }],
    ['POST', '/v2/agents/register', { name: 'name', pubkey: 'own', challenge: 'x', nonce: 1 }],
    ['POST', '/v2/agents/register', { name: 'name', pubkey: 'own', challenge: 'x' }],
    ['POST', '/v2/agents/register', { name: 'name', pubkey: 'own', nonce: '1' }],
    ['POST', '/v2/agents/register', { pubkey: 'own', challenge: 'x', nonce: '1' }],
    ['PATCH', '/v2/me', []],
    ['PATCH', '/v2/me', null],
    ['PATCH', '/v2/me', 'open'],
    ['PATCH', '/v2/me', { inbox_policy: 'OPEN' }],
    ['PATCH', '/v2/me', { inbox_policy: 'friends' }],
    ['PATCH', '/v2/me', { inbox_policy: '' }],
    ['PATCH', '/v2/me', { inbox_policy: null }],
    ['PATCH', '/v2/me', { inbox_policy: ['open'] }],
    ['PATCH', '/v2/me', { discoverable: 'true' }],
    ['PATCH', '/v2/me', { discoverable: 1 }],
    ['PATCH', '/v2/me', { discoverable: null }],
    ['POST', '/v2/me/revoke', {}],
    ['POST', '/v2/me/revoke', { confirm_agent_id: null }],
    ['POST', '/v2/me/revoke', { confirm_agent_id: true }],
    ['PUT', `/v2/contacts/${ABSENT_AGENT_ID}`, {}],
    ['PUT', `/v2/contacts/${ABSENT_AGENT_ID}`, { state: 'Accepted' }],
    ['PUT', `/v2/contacts/${ABSENT_AGENT_ID}`, { state: true }],
  ])('spec 2.7: %s %s does not take %j', async (method, target, value) => {
    const body = JSON.stringify(value).replace('"own"', JSON.stringify(alice.pubkey))
    expectError(await send(draft(alice, { method, target, body })), 400, 'invalid_request')
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

  test.each(lists)('spec 3.12: $path takes a limit of 1 to 100', async (operation) => {
    // The list of a board that is not there.
    const taken = operation.path.includes('{') ? '404 not_found' : '200 '
    expect(await statusesOf(operation, ['1', '50', '99', '100'])).toEqual({
      1: taken,
      50: taken,
      99: taken,
      100: taken,
    })
  })

  const WRONG = [
    '0',
    '101',
    '-1',
    '1.0',
    '1.5',
    '+5',
    '%2B5',
    '01',
    '007',
    '1e1',
    '0x10',
    '%205',
    '5%20',
    '5%00',
    'five',
    '',
    'NaN',
    'Infinity',
    '%D9%A5',
    '1,000',
    '100000000000000000000',
    'null',
    '[5]',
  ]
  test.each(lists)('spec 3.12: $path takes no other limit', async (operation) => {
    const refused = Object.fromEntries(WRONG.map((limit) => [limit, '400 invalid_request']))
    expect(await statusesOf(operation, WRONG)).toEqual(refused)
  })

  test.each([
    ['lane=board'],
    ['lane=INBOX'],
    ['lane='],
    ['lane'],
    ['unacked=1'],
    ['unacked=TRUE'],
    ['unacked='],
    ['unacked'],
  ])('spec 3.12: the inbox does not take %s', async (query) => {
    expectError(await send(draft(alice, { target: `/v2/inbox?${query}` })), 400, 'invalid_request')
  })

  test('spec 3.12: a query that declares nothing is no query', async () => {
    for (const query of ['?', '?&', '?&&limit=1&']) {
      expect(await send(draft(alice, { target: `/v2/contacts${query}` }))).toMatchObject({ status: 200 })
    }
  })
})

describe('spec 3.11, 4.3: 404 not_found', () => {
  test.each([
    '/',
    '/v2',
    '/v2/',
    '/v2/nothing',
    '/v1/me',
    '/V2/me',
    '/v2/Me',
    '/v2/me/',
    '//v2/me',
    '/v2//me',
    '/v2/me/nothing',
    '/v2/./me',
    '/v2/agents/../me',
    '/v2/%2e%2e/v2/me',
    '/v2%2Fme',
    '/v2/me%2F',
    '/v2/me%00',
    '/v2/me%20',
    '/v2/me;x=1',
    '/v2/me\\',
    '/v2/m%e',
    '/v2/agents#x',
    '/v2/agents/',
    '/v2/contacts/',
    '/v2/messages/',
    '/v2/messages/absent-message/',
    '/v2/messages/absent-message/nothing',
    '/openapi.json/',
    '/openapi.yaml',
    '/.well-known/agent.json/',
    '/.well-known/',
    '/.env',
    `/${'x'.repeat(8000)}`,
    `/v2/agents/${'x'.repeat(8000)}`,
    `${'/x'.repeat(2000)}`,
  ])('spec 3.11: an unknown path: %s', async (target) => {
    expectError(await exchange(url, { target }), 404, 'not_found')
    expectError(await send(draft(alice, { target })), 404, 'not_found')
  })

  const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'LOCK', 'PURGE', 'QUERY']
  const paths = [...new Set(OPERATIONS.map(({ path }) => path)), '/openapi.json', '/.well-known/agent.json']
  const unknown = paths.flatMap((path) => {
    const known = OPERATIONS.filter((operation) => operation.path === path).map(({ method }) => String(method))
    const others = METHODS.filter((method) => !(known.length > 0 ? known : ['GET']).includes(method))
    return [{ path, others, target: targetOf({ ...(OPERATIONS[0] as SpecOperation), path }) }]
  })
  test.each(unknown)('spec 3.11: every method of $path that the specification has not', async ({ others, target }) => {
    for (const method of others) {
      expectError(await exchange(url, { method, target }), 404, 'not_found')
      expectError(await send(draft(alice, { method, target })), 404, 'not_found')
    }
    const head = await exchange(url, { method: 'HEAD', target })
    expect(head).toMatchObject({ status: 404, text: '' })
    expectStamped(head)
  })

  test.each([
    ['a method that Node has not heard of', 'BREW /v2/me HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['a method in lower case', 'get /v2/me HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['CONNECT', 'CONNECT elsewhere.example:443 HTTP/1.1\r\nhost: elsewhere.example:443\r\n\r\n'],
    ['OPTIONS of the whole server', 'OPTIONS * HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'],
  ])('spec 3.11: %s', async (_, bytes) => {
    using connection = openRaw(url)
    connection.write(bytes)
    expectError(parseAnswers(await connection.ended)[0] ?? none(), 404, 'not_found')
  })

  const ids = [
    [
      'GET',
      '/v2/agents/',
      [
        'ab',
        'x'.repeat(33),
        'Alice',
        '_ab',
        '-ab',
        'a%20b',
        'abc%0A',
        'abc%00',
        '%C3%A4bc',
        'a.b',
        'a@b',
        'a%2Fb',
        '%2e%2e',
      ],
    ],
    [
      'PUT',
      '/v2/contacts/',
      [
        'x',
        'alice',
        `0${ABSENT_AGENT_ID.slice(1)}`,
        `${ABSENT_AGENT_ID}%0A`,
        ABSENT_AGENT_ID.slice(20),
        `${ABSENT_AGENT_ID}11`,
      ],
    ],
    [
      'GET',
      '/v2/messages/',
      [
        'short',
        'x'.repeat(81),
        'with.a.dot',
        'with%20space',
        'message%0A',
        'message%00',
        '%C3%A4%C3%A4%C3%A4%C3%A4%C3%A4',
        'board:absent',
      ],
    ],
  ] as const
  const rows = ids.flatMap(([method, path, values]) => values.map((id) => ({ method, path, id })))
  test.each(rows)('spec 3.11: an id in a path that cannot be one: $method $path$id', async ({ method, path, id }) => {
    const body = method === 'PUT' ? '{"state":"blocked"}' : undefined
    expectError(await send(draft(alice, { method, target: path + id, body })), 404, 'not_found')
    if (path !== '/v2/messages/') return
    expectError(await send(draft(alice, { method: 'POST', target: `${path}${id}/ack` })), 404, 'not_found')
    expectError(await send(draft(alice, { target: `${path}${id}/receipts` })), 404, 'not_found')
  })

  test.each([
    ['GET', '/v2/agents/absent', undefined],
    ['GET', '/v2/messages/absent-message', undefined],
    ['POST', '/v2/messages/absent-message/ack', undefined],
    ['GET', '/v2/messages/absent-message/receipts', undefined],
    ['PUT', `/v2/contacts/${ABSENT_AGENT_ID}`, '{"state":"blocked"}'],
  ])('spec 7.16: what is absent: %s %s', async (method, target, body) => {
    expectError(await send(draft(alice, { method, target, body })), 404, 'not_found')
  })

  test('spec 3.18: no origin may call from a browser where none is configured', async () => {
    const origin = 'https://app.example'
    const preflight = {
      origin,
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'authorization',
    }
    const asked = await exchange(url, { method: 'OPTIONS', target: '/v2/agents', headers: preflight })
    expectError(asked, 404, 'not_found')
    const answered = await exchange(url, { target: '/v2/agents', headers: { origin } })
    expect(answered.status).toBe(200)
    for (const { headers } of [asked, answered]) {
      expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([])
    }
  })
})

describe('spec 4.1: HTTP that is none is answered in the same shape', () => {
  // Whoever asks for health is told soon that a service is slow; everybody else waits for it.
  // Other files of the run may have listed agents in the shared system.
  const AGENTS = { status: 200, body: { agents: expect.any(Array), next_cursor: expect.any(String) } }
  const GET = 'GET /v2/agents HTTP/1.1\r\nhost: x\r\n'
  const POST = 'POST /v2/challenges HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n'
  test.each([
    ['no request line', 'GARBAGE\r\n\r\n'],
    ['a version that is none', 'GET /v2/health HTTP/9.9\r\nhost: x\r\n\r\n'],
    ['a protocol that is none', 'GET /v2/health HTML/1.1\r\nhost: x\r\n\r\n'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['TLS', Buffer.from('16030100c8010000c40303', 'hex')],
    ['a path with a space', 'GET /v2/he alth HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['a header without a colon', `${GET}nothing\r\n\r\n`],
    ['a header whose name has a space', `${GET}x y: 1\r\n\r\n`],
    ['a space before the colon', `${GET}x : 1\r\n\r\n`],
    ['a NUL in a header', `${GET}x: \0\r\n\r\n`],
    ['a header that is folded', `${GET}x: 1\r\n y\r\n\r\n`],
    ['no Host', 'GET /v2/health HTTP/1.1\r\nconnection: close\r\n\r\n'],
    ['a header of 20 KB', `${GET}x: ${'y'.repeat(20_000)}\r\n\r\n`],
    ['headers of 40 KB', `${GET}${`x: ${'y'.repeat(1000)}\r\n`.repeat(40)}\r\n`],
    ['a path of 40 KB', `GET /${'x'.repeat(40_000)} HTTP/1.1\r\nhost: x\r\n\r\n`],
    ['a length that is none', `${POST}content-length: x\r\n\r\n{}`],
    ['a negative length', `${POST}content-length: -1\r\n\r\n{}`],
    ['a length with a sign', `${POST}content-length: +2\r\n\r\n{}`],
    ['two lengths', `${POST}content-length: 2\r\ncontent-length: 3\r\n\r\n{} `],
    ['a length and chunks', `${POST}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`],
    ['a chunk size that is none', `${POST}transfer-encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n`],
    ['a chunk that is longer than it says', `${POST}transfer-encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n`],
  ])('spec 3.13, 4.1: %s', async (_, bytes) => {
    using connection = openRaw(url)
    connection.write(bytes)
    const [answer, ...others] = parseAnswers(await connection.ended)
    expectError(answer ?? none(), 400, 'invalid_request')
    expect(others).toEqual([])
  })

  test('spec 4.1: a request that came whole before what broke is answered first', async () => {
    using connection = openRaw(url)
    connection.write(`${GET}\r\n${'GET /v2/agents/absent HTTP/1.1\r\nhost: x\r\n\r\n'}GARBAGE\r\n\r\n`)
    const [first, second, third, ...others] = parseAnswers(await connection.ended)
    expect(first).toMatchObject(AGENTS)
    expectError(second ?? none(), 404, 'not_found')
    expectError(third ?? none(), 400, 'invalid_request')
    expect(others).toEqual([])
  })

  test('requests that come together on one connection are answered in their order', async () => {
    using connection = openRaw(url)
    const targets = ['/v2/agents', '/v2/nothing', '/openapi.json', '/v2/me', '/v2/agents']
    const close = (at: number): string => (at === targets.length - 1 ? 'connection: close\r\n' : '')
    connection.write(targets.map((target, at) => `GET ${target} HTTP/1.1\r\nhost: x\r\n${close(at)}\r\n`).join(''))
    const answers = parseAnswers(await connection.ended)
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 200, 401, 200])
  })

  test('HTTP/1.0 without a Host is answered', async () => {
    using connection = openRaw(url)
    connection.write('GET /v2/agents HTTP/1.0\r\n\r\n')
    expect(parseAnswers(await connection.ended)).toMatchObject([AGENTS])
  })

  test('RFC 9110, 10.1.1: a client that waits for 100 Continue is asked for its body, and answered', async () => {
    using connection = openRaw(url)
    const body = JSON.stringify({ pubkey: alice.pubkey })
    connection.write(`${POST}expect: 100-continue\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n`)
    await eventually(() => connection.received.includes('\r\n\r\n'))
    expect(connection.received).toMatch(/^HTTP\/1\.1 100 Continue\r\n/)
    connection.write(body)
    const [, answer] = parseAnswers(await connection.ended)
    expect(answer).toMatchObject({ status: 201 })
  })

  test('a client that leaves in the middle of a request takes nothing with it', async () => {
    for (const bytes of ['GET /v2/hea', `${POST}content-length: 100\r\n\r\n{`]) {
      const connection = openRaw(url)
      connection.write(bytes)
      await eventually(() => connection.socket.bytesWritten >= bytes.length)
      connection[Symbol.dispose]()
    }
    expect(await call(h.place, 'GET', '/v2/agents')).toMatchObject(AGENTS)
  })
})

describe('spec 3.14: every answer', () => {
  test('spec 3.14: carries an X-Request-Id of its own, also where the client sends one', async () => {
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

  test('spec 3.14: bodies are JSON and say so', async () => {
    for (const target of [
      '/v2/health',
      '/v2/agents',
      '/openapi.json',
      '/.well-known/agent.json',
      '/v2/me',
      '/v2/budget',
    ]) {
      const answer = await send(draft(alice, { target }))
      expect(answer.headers.get('content-type')).toMatch(/^application\/json(;|$)/)
      expect(answer.body).toBeTypeOf('object')
    }
  })
})

function none(): never {
  throw new Error('there was no answer')
}
