import { expect, test } from 'vitest'
import { hrefOf, parseRoute } from './route.ts'

test.each([
  ['', 'inbox', undefined],
  ['#/', 'inbox', undefined],
  ['#/requests', 'requests', undefined],
  ['#/inbox/message-1', 'inbox', 'message-1'],
  ['#/boards/', 'boards', undefined],
  ['#/write/a%2Fb', 'write', 'a/b'],
  ['#/nowhere/x', 'inbox', undefined],
  ['#/inbox/%', 'inbox', undefined],
])('%s shows %s of %s', (hash, page, id) => {
  expect(parseRoute(hash)).toEqual({ page, id })
})

test('an id survives in the address, whatever characters it has', () => {
  expect(parseRoute(hrefOf('write', 'bob/../x#y'))).toEqual({ page: 'write', id: 'bob/../x#y' })
})
