import { describe, expect, test } from 'vitest'
import { createCrowd } from './crowd.ts'

function start(members: Record<string, string[]>) {
  const busy = new Set<string>()
  const crowd = createCrowd<string>((member) => busy.has(member))
  for (const [client, names] of Object.entries(members)) for (const name of names) crowd.add(client, name)
  return { crowd, busy }
}

describe('the member that makes room for a newcomer', () => {
  test('is the longest idle of the client that has most', () => {
    const { crowd } = start({ few: ['f1', 'f2'], many: ['m1', 'm2', 'm3'] })
    expect(crowd.longestIdle()).toBe('m1')
    crowd.touch('m1')
    expect(crowd.longestIdle()).toBe('m2')
  })

  test('is of another client when that one has no more than the others', () => {
    const { crowd } = start({ few: ['f1', 'f2'], many: ['m1', 'm2', 'm3'] })
    crowd.remove('m1')
    crowd.remove('m2')
    expect(crowd.longestIdle()).toBe('f1')
  })

  test('is none that is busy, until it is touched again', () => {
    const { crowd, busy } = start({ few: ['f1'], many: ['m1', 'm2'] })
    busy.add('m1').add('m2')
    expect(crowd.longestIdle()).toBe('f1')
    busy.delete('m2')
    crowd.touch('m2')
    crowd.add('many', 'm3')
    expect(crowd.longestIdle()).toBe('m2')
  })

  test('is one of a client’s own, if that is asked for', () => {
    const { crowd } = start({ few: ['f1'], many: ['m1', 'm2'] })
    expect(crowd.longestIdle('few')).toBe('f1')
    expect(crowd.longestIdle('nobody')).toBeUndefined()
  })

  test('is nobody if all are busy or gone', () => {
    const { crowd, busy } = start({ one: ['o1', 'o2'] })
    busy.add('o1')
    crowd.remove('o2')
    expect(crowd.longestIdle()).toBeUndefined()
    crowd.remove('o1')
    crowd.remove('o1')
    expect([crowd.size, crowd.countOf('one'), crowd.membersOf('one')]).toEqual([0, 0, []])
  })
})
