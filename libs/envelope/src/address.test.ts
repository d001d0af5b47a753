import { AgentName, BoardId } from '@svc/contracts/ids.ts'
import { agentIdOf } from '@svc/svc1/agent-id.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseAddress, parseSender } from './address.ts'

// docs/vectors/texts.json has the texts that are refused.
describe('spec 6.1: to is name@authority or board:<BOARD_ID>', () => {
  test.each([
    ['bob@127.0.0.1:8080', 'bob', '127.0.0.1:8080'],
    ['a-b_c@agents.example', 'a-b_c', 'agents.example'],
    ['0ab@[::1]:8443', '0ab', '[::1]:8443'],
    [`${'x'.repeat(32)}@localhost`, 'x'.repeat(32), 'localhost'],
  ])('%s', (text, name, authority) => {
    expect(parseAddress(text)).toEqual({ kind: 'agent', name, authority })
  })

  test('a board', () => {
    expect(parseAddress(`board:${'0a'.repeat(10)}`)).toEqual({ kind: 'board', boardId: '0a'.repeat(10) })
  })

  test('property: names and board ids are those of the contracts', () => {
    const near = fc.string({ unit: fc.constantFrom(...'ab09_-AB@: \n'), maxLength: 45 })
    const [name, board] = [new RegExp(AgentName.pattern ?? ''), new RegExp(BoardId.pattern ?? '')]
    fc.assert(
      fc.property(fc.oneof(near, fc.stringMatching(name), fc.stringMatching(board)), (text) => {
        expect(parseAddress(`${text}@host`) !== undefined).toBe(name.test(text))
        expect(parseAddress(`board:${text}`)?.kind === 'board').toBe(board.test(text))
      }),
      { numRuns: 500 },
    )
  })
})

describe('spec 6.1, 6.2: from is an agent id or name@authority', () => {
  const id = agentIdOf(new Uint8Array(32))

  test('an agent id', () => {
    expect(parseSender(id)).toEqual({ kind: 'id', id })
  })

  test.each([
    ['alice@127.0.0.1:8080', 'alice', '127.0.0.1:8080'],
    ['alice@Agents.Example', 'alice', 'Agents.Example'],
    ['0ab@[::1]:8443', '0ab', '[::1]:8443'],
  ])('an address: %s', (text, name, authority) => {
    expect(parseSender(text)).toEqual({ kind: 'agent', name, authority })
  })

  test('property: an address of an agent is a sender, and nothing else but an agent id', () => {
    const texts = fc.oneof(fc.string({ unit: fc.constantFrom(...'ab0_-AB@:.[] \n'), maxLength: 45 }), fc.string())
    fc.assert(
      fc.property(texts, (text) => {
        const address = parseAddress(text)
        expect(parseSender(text)).toEqual(address?.kind === 'agent' ? address : undefined)
      }),
      { numRuns: 300, examples: [['bob@host'], [`board:${'a'.repeat(20)}`]] },
    )
  })
})
