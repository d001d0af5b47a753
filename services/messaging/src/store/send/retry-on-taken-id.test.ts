import { describe, expect, test } from 'vitest'
import { retryOnTakenId } from './retry-on-taken-id.ts'

const taken = Object.assign(new Error('taken'), { code: '23505' })

/** Appends its items, unless `fails` returns an error. */
function appending(fails: (items: readonly string[]) => Error | undefined) {
  const asked: string[] = []
  const append = async (items: readonly string[]): Promise<string[]> => {
    asked.push(items.join())
    const error = fails(items)
    if (error !== undefined) throw error
    return items.map((item) => item.toUpperCase())
  }
  return { asked, append }
}

describe('the failure of one item does not affect the others', () => {
  test('a batch that met a taken id is sent again as a whole', async () => {
    let left = 3
    const { asked, append } = appending(() => (left-- > 0 ? taken : undefined))
    expect(await retryOnTakenId(['a', 'b'], append)).toEqual(['A', 'B'])
    expect(asked).toEqual(['a,b', 'a,b', 'a,b', 'a,b'])
  })

  test('a batch that keeps failing is split into items, and each item has its own outcome', async () => {
    const { append } = appending((items) => {
      if (items.length > 1 || items[0] === 'b') return taken
      return items[0] === 'c' ? new Error('of c') : undefined
    })
    const outcomes = await retryOnTakenId(['a', 'b', 'c', 'd'], append)
    expect(outcomes[0]).toBe('A')
    expect(outcomes[1]).toMatchObject({ code: 'unavailable' })
    expect(outcomes[2]).toMatchObject({ message: 'of c' })
    expect(outcomes[3]).toBe('D')
  })

  test('a single item is tried a bounded number of times', async () => {
    const { asked, append } = appending(() => taken)
    expect(await retryOnTakenId(['a'], append)).toMatchObject([{ code: 'unavailable' }])
    expect(asked).toHaveLength(4)
  })

  test('any other error fails all items', async () => {
    const lost = new Error('lost')
    const { asked, append } = appending(() => lost)
    await expect(retryOnTakenId(['a', 'b'], append)).rejects.toBe(lost)
    expect(asked).toHaveLength(1)
  })
})
