import { ServiceError } from '@svc/contracts/errors.ts'
import { expect, test } from 'vitest'
import { checkBoardLimit, newBoard } from './new-board.ts'

test.each([
  ['public', undefined, 'members'],
  ['public', 'members', 'members'],
  ['public', 'anyone', 'anyone'],
  ['unlisted', undefined, 'members'],
  ['unlisted', 'anyone', 'anyone'],
  ['private', undefined, 'members'],
  ['private', 'members', 'members'],
] as const)('spec 8.1: %s with posting %s: %s', (visibility, posting, expected) => {
  const board = newBoard({ title: 't', visibility, ...(posting === undefined ? {} : { posting }) })
  expect(board).toEqual({ title: 't', description: '', visibility, posting: expected })
})

test('spec 8.1: private with anyone is 400', () => {
  const create = (): unknown => newBoard({ title: 't', visibility: 'private', posting: 'anyone' })
  expect(create).toThrow(expect.objectContaining({ code: 'invalid_request' }))
})

test('spec 8.1: 20 boards, and no more', () => {
  expect(() => checkBoardLimit(19)).not.toThrow()
  expect(() => checkBoardLimit(20)).toThrow(new ServiceError('board_limit'))
})
