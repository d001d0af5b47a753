import { expect, test } from 'vitest'
import { Backlog } from './backlog.ts'

const heard = (cursor: number, length = 1) => ({ cursor, content: 'x'.repeat(length), heardMs: 0 })

test('events leave in the order of their arrival', () => {
  const backlog = new Backlog({ events: 3, characters: 100 })
  for (const cursor of [5, 6, 7]) backlog.push(heard(cursor))
  expect([backlog.shift()?.cursor, backlog.shift()?.cursor, backlog.shift()?.cursor, backlog.shift()]).toEqual([
    5,
    6,
    7,
    undefined,
  ])
})

test.each([
  ['events', { events: 2, characters: 100 }, [1, 1, 1]],
  ['characters', { events: 100, characters: 10 }, [6, 4, 1]],
  ['characters of one alone', { events: 100, characters: 10 }, [11]],
] as const)('bounded by %s; past that everything is dropped, and it fills again', (_, limits, lengths) => {
  const backlog = new Backlog(limits)
  lengths.forEach((length, at) => {
    backlog.push(heard(at + 1, length))
  })
  expect(backlog.size).toBe(0)
  backlog.push(heard(9, limits.characters))
  expect(backlog.shift()?.cursor).toBe(9)
})

test('taking items out makes room', () => {
  const backlog = new Backlog({ events: 2, characters: 10 })
  for (let cursor = 1; cursor <= 50; cursor += 1) {
    backlog.push(heard(cursor, 10))
    expect(backlog.shift()?.cursor).toBe(cursor)
  }
})
