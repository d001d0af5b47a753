import { TypeCompiler } from '@sinclair/typebox/compiler'
import { expect, test } from 'vitest'
import { defineCall } from './define.ts'
import { closed } from './resources.ts'
import { textOf } from './text-schema.ts'

const text = TypeCompiler.Compile(textOf({ minLength: 1, maxLength: 120 }))

test.each([
  ['', false],
  ['a', true],
  ['\0', true],
  ['a'.repeat(120), true],
  ['a'.repeat(121), false],
  ['𝒂'.repeat(120), true],
  ['𝒂'.repeat(121), false],
  [`${'𝒂'.repeat(119)}ab`, false],
  ['e\u0301'.repeat(60), true],
  ['e\u0301'.repeat(61), false],
  [120, false],
  [null, false],
])('spec 2.11: lengths count code points (case %#)', (value, fits) => {
  expect(text.Check(value)).toBe(fits)
})

test('the OpenAPI description shows it as plain JSON Schema', () => {
  expect(JSON.parse(JSON.stringify(textOf({ minLength: 1, maxLength: 2 })))).toEqual({
    type: 'string',
    minLength: 1,
    maxLength: 2,
  })
})

test('a call checks the length of its text as well', () => {
  const call = defineCall({ subject: 'svc.a.b', request: closed({ t: textOf({ maxLength: 2 }) }), reply: closed({}) })
  expect(call.isRequest({ t: '𝒂𝒂' })).toBe(true)
  expect(call.isRequest({ t: 'aaa' })).toBe(false)
})
