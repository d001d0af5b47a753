import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { findBreaks, type ReleaseRecord } from './release-growth.ts'
import { RECORD_PATH, recordRelease } from './release-record.ts'

const id = { type: 'string', pattern: '^[a-z]+$' }
const request = { type: 'object', required: ['id'], properties: { id, more: { type: 'integer' } } }
const reply = { type: 'object', required: ['list'], properties: { list: { type: 'array', items: id } } }
const released: ReleaseRecord = {
  calls: {
    'svc.a.ask': { request, reply, askedBy: ['gateway'] },
    'svc.a.old': { request, reply, askedBy: [] },
  },
  migrations: { 'a/0001_first.sql': 'one', 'a/0010_tenth.sql': 'ten', 'b/0001_first.sql': 'b' },
}
const ask = released.calls['svc.a.ask']
const old = released.calls['svc.a.old']
if (ask === undefined || old === undefined) throw new RangeError('there are two')

const withAsk = (change: object): ReleaseRecord => ({
  ...released,
  calls: { ...released.calls, 'svc.a.ask': { ...ask, ...change } },
})
const withMembers = (properties: object, required: string[] = ['id']): ReleaseRecord =>
  withAsk({ request: { type: 'object', required, properties } })
const withMigrations = (migrations: Record<string, string>): ReleaseRecord => ({ ...released, migrations })

describe('contracts only grow, and so do migrations', () => {
  test.each<[string, ReleaseRecord]>([
    ['nothing', released],
    ['a call more', { ...released, calls: { ...released.calls, 'svc.a.new': ask } }],
    ['a call less that nobody asked for', { ...released, calls: { 'svc.a.ask': ask } }],
    ['a member more that need not be there', withMembers({ id, more: { type: 'integer' }, also: { type: 'string' } })],
    ['a member less that did not have to be there', withMembers({ id })],
    ['words alone', withMembers({ id: { ...id, description: 'whose' }, more: { type: 'integer' } })],
    ['who asks', withAsk({ askedBy: ['gateway', 'stream'] })],
    ['a migration behind the last', withMigrations({ ...released.migrations, 'a/0011_new.sql': 'new' })],
    ['the first migration of a store', withMigrations({ ...released.migrations, 'c/0001_first.sql': 'c' })],
  ])('%s may change', (_, now) => {
    expect(findBreaks(released, now)).toEqual([])
  })

  test.each<[string, ReleaseRecord, string]>([
    [
      'a call that is asked for is gone',
      { ...released, calls: { 'svc.a.old': old } },
      'svc.a.ask is gone, and the released gateway asks for it',
    ],
    [
      'a member more that has to be there',
      withMembers({ id, more: { type: 'integer' }, also: id }, ['id', 'also']),
      'svc.a.ask, request/also has to be there now',
    ],
    [
      'a member need not be there any more',
      withMembers({ id, more: { type: 'integer' } }, []),
      'svc.a.ask, request/id had to be there, and need not now',
    ],
    [
      'a member less that had to be there',
      withMembers({ more: { type: 'integer' } }, []),
      'svc.a.ask, request/id had to be there, and need not now',
    ],
    [
      'another type',
      withMembers({ id, more: { type: 'string' } }),
      'svc.a.ask, request/more/type was "integer", and is "string"',
    ],
    [
      'a bound more',
      withMembers({ id, more: { type: 'integer', maximum: 5 } }),
      'svc.a.ask, request/more/maximum was not there, and is 5',
    ],
    [
      'another form, deep in an answer',
      withAsk({ reply: { ...reply, properties: { list: { type: 'array', items: { type: 'string' } } } } }),
      'svc.a.ask, reply/list/items/pattern was "^[a-z]+$", and is not there',
    ],
    [
      'a migration was edited',
      withMigrations({ ...released.migrations, 'a/0001_first.sql': 'other' }),
      'a/0001_first.sql was changed, and has run as it was',
    ],
    [
      'a migration is gone',
      withMigrations({ 'a/0001_first.sql': 'one', 'a/0010_tenth.sql': 'ten' }),
      'b/0001_first.sql is gone, and has run',
    ],
    [
      'a migration before the last',
      withMigrations({ ...released.migrations, 'a/0002_late.sql': 'late' }),
      'a/0002_late.sql comes before a/0010_tenth.sql, which has run',
    ],
  ])('%s may not', (_, now, sentence) => {
    expect(findBreaks(released, now)).toEqual([sentence])
  })

  test('this tree runs beside the last release', async () => {
    const last = JSON.parse(readFileSync(RECORD_PATH, 'utf8')) as ReleaseRecord
    expect(Object.keys(last.calls).length).toBeGreaterThan(50)
    expect(findBreaks(last, await recordRelease())).toEqual([])
  })
})
