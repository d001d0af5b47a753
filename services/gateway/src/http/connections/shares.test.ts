import { expect, test } from 'vitest'
import { createShares } from './shares.ts'

test.each([
  ['a client that asks for more than the others', { a: 10, b: 1, c: 1 }, ['a']],
  ['several clients', { a: 9, b: 9, c: 1, d: 1 }, ['a', 'b']],
  ['no client, if all ask for the same', { a: 5, b: 5 }, []],
  ['no client, if there is only one', { a: 500 }, []],
])('above the average: %s', (_name, amounts, above) => {
  const shares = createShares(() => 0)
  for (const [client, amount] of Object.entries(amounts)) {
    for (let part = 0; part < amount; part += 1) shares.add(client, 10_000)
  }
  expect([...Object.keys(amounts), 'unknown'].filter((client) => shares.isAboveAverage(client))).toEqual(above)
})

test('the requests of a client count half after a second, and after some seconds they are forgotten', () => {
  let nowMs = 0
  const shares = createShares(() => nowMs)
  shares.add('a', 8_192)
  shares.add('b', 6_144)
  nowMs = 1_000
  shares.add('b', 2_048)
  expect(shares.isAboveAverage('b')).toBe(true)
  for (nowMs = 2_000; nowMs < 10_000; nowMs += 1_000) shares.isAboveAverage('b')
  shares.add('c', 1)
  expect(shares.isAboveAverage('c')).toBe(false) // it is alone again
})
