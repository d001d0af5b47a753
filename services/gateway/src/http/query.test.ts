import { ServiceError } from '@svc/contracts/errors.ts'
import { readVectors } from '@svc/test/support/vectors.ts'
import { describe, expect, test } from 'vitest'
import {
  afterCursor,
  afterEvent,
  afterKey,
  lane,
  limit,
  type QueryRules,
  readQuery,
  threadId,
  unacked,
} from './query.ts'

/** The values that these rules read from a query, or the error code. */
function read(rules: QueryRules, query: string): unknown {
  try {
    return readQuery(rules, `/v2/list${query}`)
  } catch (error) {
    if (error instanceof ServiceError) return error.code
    throw error
  }
}

describe('spec 3.12: undeclared or repeated query parameters are 400 invalid_request', () => {
  test.each([
    ['', { limit: 50 }],
    ['?', { limit: 50 }],
    ['?&', { limit: 50 }],
    ['?&&limit=1&', { limit: 1 }],
    ['?limit=7', { limit: 7 }],
    ['?%6cimit=7', { limit: 7 }],
    ['?other=1', 'invalid_request'],
    ['?limit=7&other', 'invalid_request'],
    ['?=', 'invalid_request'],
    ['?Limit=7', 'invalid_request'],
    ['?__proto__=7', 'invalid_request'],
    ['?toString=7', 'invalid_request'],
    ['?limit=7&limit=7', 'invalid_request'],
    ['?limit=7&%6Cimit=7', 'invalid_request'],
    ['?limit=%', 'invalid_request'],
    ['?limit=%ff', 'invalid_request'],
    ['?%zz=1', 'invalid_request'],
  ])('%j', (query, result) => {
    expect(read({ limit }, query)).toEqual(result)
  })

  test('nothing after the first wrong pair is decoded', () => {
    const detail = 'there is no query parameter "a"; this operation takes limit'
    expect(() => readQuery({ limit }, `/v2/list?limit=7&a${'&%zz'.repeat(4_000)}`)).toThrow(
      expect.objectContaining({ detail }),
    )
  })
})

interface Kind {
  kind: string
  valid: { text: string }[]
  refused: { text: string }[]
}
const { kinds } = readVectors<{ kinds: Kind[] }>('texts.json')
const { valid, refused } = kinds.find(({ kind }) => kind === 'limit') ?? expect.unreachable()

test.each([
  ...valid.map(({ text }) => [text, { limit: Number(text) }] as const),
  ...refused.map(({ text }) => [text, 'invalid_request'] as const),
])('spec 3.12, 11.7: a page has 1 to 100: limit=%s', (text, result) => {
  expect(read({ limit }, `?limit=${encodeURIComponent(text)}`)).toEqual(result)
})

test.each([
  ['', { after: 0 }],
  ['?after=0', { after: 0 }],
  ['?after=9007199254740991', { after: Number.MAX_SAFE_INTEGER }],
  ['?after=9007199254740992', 'invalid_cursor'],
  ['?after=', 'invalid_cursor'],
  ['?after=-1', 'invalid_cursor'],
  ['?after=1.5', 'invalid_cursor'],
  ['?after=1e3', 'invalid_cursor'],
  ['?after=x', 'invalid_cursor'],
])('spec 9.4: after of events is a nonnegative integer, default 0: %j', (query, result) => {
  expect(read({ after: afterEvent }, query)).toEqual(result)
})

test('spec 3.12: a wrong limit comes before a wrong cursor', () => {
  expect(read({ after: afterEvent, limit }, '?after=x&limit=0')).toBe('invalid_request')
})

test.each([
  ['', { after: null }],
  ['?after=abc', { after: 'abc' }],
  ['?after=a%2Bb', { after: 'a+b' }],
  ['?after=a+b', { after: 'a b' }],
  ['?after=', { after: '' }],
])('spec 7.9: after of a message list is passed on: %j', (query, result) => {
  expect(read({ after: afterCursor }, query)).toEqual(result)
})

test.each([
  ['', { after: '' }],
  ['?after=', { after: '' }],
  ['?after=bob', { after: 'bob' }],
  ['?after=not%20a%20name', { after: 'not a name' }],
  ['?after=bob%00x', { after: 'bob\0x' }],
])('spec 7.9: after of a list by key is a place in its order and need not exist: %j', (query, result) => {
  expect(read({ after: afterKey }, query)).toEqual(result)
})

test.each([
  ['', { thread_id: null }],
  ['?thread_id=root-0001', { thread_id: 'root-0001' }],
  ['?thread_id=', { thread_id: '' }],
  ['?thread_id=short', { thread_id: '' }],
  ['?thread_id=root-0001%00', { thread_id: '' }],
])('spec 7.12: a thread_id that cannot be an id names nothing: %j', (query, result) => {
  expect(read({ thread_id: threadId }, query)).toEqual(result)
})

test.each([
  ['', { lane: 'inbox', unacked: false }],
  ['?lane=requests&unacked=true', { lane: 'requests', unacked: true }],
  ['?unacked=false&lane=inbox', { lane: 'inbox', unacked: false }],
  ['?lane=board', 'invalid_request'],
  ['?lane=', 'invalid_request'],
  ['?unacked=1', 'invalid_request'],
  ['?unacked', 'invalid_request'],
  ['?unacked=True', 'invalid_request'],
])('spec 3.12, 7.11: GET /v2/inbox: lane and unacked: %j', (query, result) => {
  expect(read({ lane, unacked }, query)).toEqual(result)
})
