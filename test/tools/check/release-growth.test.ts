import { describe, expect, test } from 'vitest'
import { findBreaks, type ReleaseRecord } from './release-growth.ts'
import { readSignature } from './sql-signature.ts'

const id = { type: 'string', pattern: '^[a-z]+$' }
const request = { type: 'object', required: ['id'], properties: { id, more: { type: 'integer' } } }
const reply = { type: 'object', required: ['list'], properties: { list: { type: 'array', items: id } } }
const released: ReleaseRecord = {
  calls: {
    'svc.a.ask': { request, reply, askedBy: ['gateway'] },
    'svc.a.old': { request, reply, askedBy: [] },
  },
  tables: { 'a/0001_first.sql': 'one', 'a/0010_tenth.sql': 'ten', 'b/0001_first.sql': 'b' },
  functions: {
    'a.ask': { signature: 'a.ask(id text) returns bigint', revision: 2, checksum: 'two', called: true },
    'a.part': { signature: 'a.part() returns void', revision: 1, checksum: 'one', called: false },
  },
}
const askFunction = released.functions['a.ask']
if (askFunction === undefined) throw new RangeError('it is there')
const ask = released.calls['svc.a.ask']
const old = released.calls['svc.a.old']
if (ask === undefined || old === undefined) throw new RangeError('there are two')

const withAsk = (change: object): ReleaseRecord => ({
  ...released,
  calls: { ...released.calls, 'svc.a.ask': { ...ask, ...change } },
})
const withMembers = (properties: object, required: string[] = ['id']): ReleaseRecord =>
  withAsk({ request: { type: 'object', required, properties } })
const withTables = (tables: Record<string, string>): ReleaseRecord => ({ ...released, tables })
const withFunction = (change: object): ReleaseRecord => ({
  ...released,
  functions: { ...released.functions, 'a.ask': { ...askFunction, ...change } },
})

describe('contracts and SQL only grow', () => {
  test.each<[string, ReleaseRecord]>([
    ['nothing', released],
    ['a call more', { ...released, calls: { ...released.calls, 'svc.a.new': ask } }],
    ['a call that nobody makes is removed', { ...released, calls: { 'svc.a.ask': ask } }],
    ['an optional member is added', withMembers({ id, more: { type: 'integer' }, also: { type: 'string' } })],
    ['an optional member is removed', withMembers({ id })],
    ['words alone', withMembers({ id: { ...id, description: 'whose' }, more: { type: 'integer' } })],
    ['who asks', withAsk({ askedBy: ['gateway', 'stream'] })],
    ['a file of tables is added after the last', withTables({ ...released.tables, 'a/0011_new.sql': 'new' })],
    ['the first file of tables of a store', withTables({ ...released.tables, 'c/0001_first.sql': 'c' })],
    ['a function more', { ...released, functions: { ...released.functions, 'a.new': askFunction } }],
    ['a function that no service calls is removed', { ...released, functions: { 'a.ask': askFunction } }],
    ['a function changes under a higher revision', withFunction({ checksum: 'three', revision: 3 })],
    ['the revision alone', withFunction({ revision: 3 })],
  ])('%s may change', (_, now) => {
    expect(findBreaks(released, now)).toEqual([])
  })

  test.each<[string, ReleaseRecord, string]>([
    [
      'a call that is made is removed',
      { ...released, calls: { 'svc.a.old': old } },
      'svc.a.ask is gone, but the released gateway makes this call',
    ],
    [
      'a required member is added',
      withMembers({ id, more: { type: 'integer' }, also: id }, ['id', 'also']),
      'svc.a.ask, request/also is required now',
    ],
    [
      'a required member becomes optional',
      withMembers({ id, more: { type: 'integer' } }, []),
      'svc.a.ask, request/id was required, and is not any more',
    ],
    [
      'a required member is removed',
      withMembers({ more: { type: 'integer' } }, []),
      'svc.a.ask, request/id was required, and is not any more',
    ],
    [
      'another type',
      withMembers({ id, more: { type: 'string' } }),
      'svc.a.ask, request/more/type was "integer", and is "string"',
    ],
    [
      'a bound more',
      withMembers({ id, more: { type: 'integer', maximum: 5 } }),
      'svc.a.ask, request/more/maximum was absent, and is 5',
    ],
    [
      'a pattern is removed, deep in an answer',
      withAsk({ reply: { ...reply, properties: { list: { type: 'array', items: { type: 'string' } } } } }),
      'svc.a.ask, reply/list/items/pattern was "^[a-z]+$", and is absent',
    ],
    [
      'a file of tables was edited',
      withTables({ ...released.tables, 'a/0001_first.sql': 'other' }),
      'a/0001_first.sql was changed, but has already run',
    ],
    [
      'a file of tables is removed',
      withTables({ 'a/0001_first.sql': 'one', 'a/0010_tenth.sql': 'ten' }),
      'b/0001_first.sql is gone, but has already run',
    ],
    [
      'a file of tables is added before the last',
      withTables({ ...released.tables, 'a/0002_late.sql': 'late' }),
      'a/0002_late.sql comes before a/0010_tenth.sql, which has already run',
    ],
    [
      'a function that the services call is removed',
      { ...released, functions: {} },
      'a.ask is gone, but the released services call it',
    ],
    [
      'the signature of a function changes',
      withFunction({ signature: 'a.ask(id text, more text) returns bigint', revision: 3 }),
      'a.ask has another signature: give the new function a new name. It was a.ask(id text) returns bigint',
    ],
    [
      'a function changes under its old revision',
      withFunction({ checksum: 'three' }),
      'a.ask has changed: its first line must say revision 3 or a higher one',
    ],
    [
      'a function returns to an earlier revision',
      withFunction({ revision: 1 }),
      'a.ask has a lower revision than the released 2',
    ],
  ])('%s may not', (_, now, sentence) => {
    expect(findBreaks(released, now)).toEqual([sentence])
  })
})

test.each([
  [
    'create or replace function a.b(\n  one text, -- first\n  two bigint default null\n) returns table (x integer)\nlanguage plpgsql as $$',
    'a.b(one text, two bigint default null) returns table (x integer)',
  ],
  ['create or replace function a.b(out x integer[])\nset enable_seqscan = off as $$', 'a.b(out x integer[])'],
])('a signature is the part before the language and the settings', (text, signature) => {
  expect(readSignature(text)).toBe(signature)
})
