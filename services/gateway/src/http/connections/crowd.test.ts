import { describe, expect, test } from 'vitest'
import { createCrowd } from './crowd.ts'

function start(members: Record<string, string[]>) {
  const busy = new Set<string>()
  const crowd = createCrowd<string>((member) => busy.has(member))
  for (const [client, names] of Object.entries(members)) for (const name of names) crowd.add(client, name)
  return { crowd, busy }
}

describe('the member that makes room for a newcomer', () => {
  test('is the longest idle connection of the client with the most connections', () => {
    const { crowd } = start({ few: ['f1', 'f2'], many: ['m1', 'm2', 'm3'] })
    expect(crowd.longestIdle()).toBe('m1')
    crowd.touch('m1')
    expect(crowd.longestIdle()).toBe('m2')
  })

  test('belongs to another client if the first client has no more connections than the others', () => {
    const { crowd } = start({ few: ['f1', 'f2'], many: ['m1', 'm2', 'm3'] })
    crowd.remove('m1')
    crowd.remove('m2')
    expect(crowd.longestIdle()).toBe('f1')
  })

  test('is never a busy connection', () => {
    const { crowd, busy } = start({ few: ['f1'], many: ['m1', 'm2'] })
    busy.add('m1').add('m2')
    expect(crowd.longestIdle()).toBe('f1')
    busy.delete('m2')
    crowd.touch('m2')
    crowd.add('many', 'm3')
    expect(crowd.longestIdle()).toBe('m2')
  })

  test('is a connection of the same client, if the caller asks for that', () => {
    const { crowd } = start({ few: ['f1'], many: ['m1', 'm2'] })
    expect(crowd.longestIdle('few')).toBe('f1')
    expect(crowd.longestIdle('nobody')).toBeUndefined()
  })

  test('is none if all are busy or closed', () => {
    const { crowd, busy } = start({ one: ['o1', 'o2'] })
    busy.add('o1')
    crowd.remove('o2')
    expect(crowd.longestIdle()).toBeUndefined()
    crowd.remove('o1')
    crowd.remove('o1')
    expect([crowd.size, crowd.countOf('one'), crowd.membersOf('one')]).toEqual([0, 0, []])
  })
})
