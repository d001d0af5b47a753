import { AgentName, BoardId } from '@svc/contracts/ids.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseAddress } from './address.ts'

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

  test.each([
    '',
    'bob',
    'bob@',
    '@host',
    'Bob@host',
    'bo@host',
    `${'x'.repeat(33)}@host`,
    '-bob@host',
    '_bob@host',
    'bob@host\n',
    ' bob@host',
    'bob@@host',
    'bob@ho st',
    'bob@host:',
    'bob@host:123456',
    'bob@host/path',
    'bob@user@host',
    'bob@höst',
    'bob@[::1',
    `bob@${'h'.repeat(256)}`,
    'board:',
    `board:${'a'.repeat(19)}`,
    `board:${'a'.repeat(41)}`,
    `board:${'A'.repeat(20)}`,
    `board:${'a'.repeat(20)}\n`,
    `Board:${'a'.repeat(20)}`,
    `board:${'a'.repeat(20)}@host`,
  ])('spec 6.2: malformed: %j', (text) => {
    expect(parseAddress(text)).toBeUndefined()
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
