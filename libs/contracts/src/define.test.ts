import { Type } from '@sinclair/typebox'
import { describe, expect, test } from 'vitest'
import { defineCall, defineTextCall } from './define.ts'
import { closed } from './resources.ts'

const inner = closed({ id: Type.String({ pattern: '^[a-z]+$' }), more: Type.Optional(Type.Integer()) })
const choice = Type.Union([closed({ kind: Type.Literal('a'), value: inner }), closed({ kind: Type.Literal('none') })])
const call = defineCall({ subject: 'svc.test.call', request: choice, reply: closed({ list: Type.Array(inner) }) })

describe('contracts only grow, and new code works with an old peer', () => {
  test.each([
    ['as declared', { kind: 'a', value: { id: 'x' } }, true],
    ['a member that a newer peer has added', { kind: 'a', value: { id: 'x', added: 1 }, also: true }, true],
    ['a member of another type', { kind: 'a', value: { id: 'x', more: 'y' } }, false],
    ['a missing member', { kind: 'a', value: {} }, false],
    ['another pattern', { kind: 'a', value: { id: 'X' } }, false],
    ['another kind', { kind: 'b' }, false],
    ['no object', 'a', false],
  ])('a request %s', (_name, request, expected) => {
    expect(call.isRequest(request)).toBe(expected)
  })

  test('replies, and the metadata of text replies, are checked the same way', () => {
    expect(call.isReply({ list: [{ id: 'x', added: 1 }], added: 2 })).toBe(true)
    expect(call.isReply({ list: [{ id: 1 }] })).toBe(false)
    const text = defineTextCall({ subject: 'svc.test.text', request: choice, meta: inner })
    expect(text.isReply({ id: 'x', added: 1 })).toBe(true)
    expect(text.isReply({})).toBe(false)
  })
})
