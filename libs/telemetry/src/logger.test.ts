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

test('of an error that a client sees, the log has the code and the causes, and not the hint for the client', () => {
  const hint = 'repeat the request'
  const shown = (code: string, cause?: Error): Error =>
    Object.assign(new Error(hint, { cause }), { name: 'ServiceError', code })
  const error = shown('unavailable', new Error('svc.budget.reserve', { cause: new Error('no answer in time') }))
  const { message, stack, code } = describeError(error)
  expect({ message, code }).toEqual({
    message: 'unavailable: svc.budget.reserve: no answer in time',
    code: 'unavailable',
  })
  expect(stack).toMatch(
    /: unavailable\n {4}at [\s\S]*\ncaused by: Error: svc.budget.reserve\n[\s\S]*\ncaused by: Error: no ans/,
  )
  expect(describeError(new Error('outer', { cause: shown('internal') })).message).toBe('outer: internal')
  expect(JSON.stringify([describeError(error), describeError(shown('internal'))])).not.toContain(hint)
})

test('an error whose causes go in a circle is described once', () => {
  const [first, second] = [new Error('first'), new Error('second')]
  first.cause = second
  second.cause = first
  expect(describeError(first).message).toBe('first: second')
})

test('an error is described by its class, its code, its text and those of its causes', () => {
  const error = Object.assign(new RangeError('outer', { cause: new Error('inner') }), { code: '42501' })
  expect(describeError(error)).toMatchObject({ type: 'RangeError', code: '42501', message: 'outer: inner' })
})
