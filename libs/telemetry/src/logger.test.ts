import { expect, test } from 'vitest'
import { describeError } from './logger.ts'

const SECRET = 'somebody’s words'

function errorOf(work: () => unknown): Error {
  try {
    work()
  } catch (error) {
    return error as Error
  }
  throw new Error('it did not throw')
}

test.each([
  ['JSON that is not valid', errorOf(() => JSON.parse(SECRET))],
  ['JSON that breaks off', errorOf(() => JSON.parse(`{"a":"${SECRET} ${'x'.repeat(80)}`))],
  ['JSON with trailing text', errorOf(() => JSON.parse(`{"a":"${SECRET}"} ${SECRET}`))],
  ['a row that is refused', Object.assign(new Error('violates check'), { detail: `Failing row contains (${SECRET})` })],
  ['a query', Object.assign(new Error('failed'), { query: 'select', parameters: [SECRET], args: [SECRET] })],
  ['a value', new Error(`invalid input syntax for type uuid: "${SECRET}"`)],
  ['a cause', new Error('outer', { cause: errorOf(() => JSON.parse(SECRET)) })],
])('ADR 22: of %s the log has the event, without its data', (_, error) => {
  const text = JSON.stringify(describeError(error))
  expect(text).toContain(String(error.message.split(/[:,]/)[0]).slice(0, 5))
  expect(text).not.toContain('words')
})

test('an error is described by its class, its code, its text and those of its causes', () => {
  const error = Object.assign(new RangeError('outer', { cause: new Error('inner') }), { code: '42501' })
  expect(describeError(error)).toMatchObject({ type: 'RangeError', code: '42501', message: 'outer: inner' })
})
