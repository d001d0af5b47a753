import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { checkWork, leadingZeroBits, type SolveProgress, solveWork } from './pow.ts'

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('spec 5.5: proof of work', () => {
  test('property: leading zero bits are those of the binary numeral', () => {
    const hashes = fc
      .tuple(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.nat(32))
      .map(([hash, zeros]) => hash.fill(0, 0, zeros))
    fc.assert(
      fc.property(hashes, (hash) => {
        const binary = [...hash].map((byte) => byte.toString(2).padStart(8, '0')).join('')
        const first = binary.indexOf('1')
        expect(leadingZeroBits(hash)).toBe(first === -1 ? 256 : first)
      }),
    )
  })

  test('the hash is over the UTF-8 bytes of <challenge>:<nonce>, and the bound is exact', () => {
    for (const nonce of ['0', '!', '~', 'abc', 'x'.repeat(128)]) {
      const bits = leadingZeroBits(createHash('sha256').update(`chällenge:${nonce}`).digest())
      expect(checkWork('chällenge', nonce, bits)).toBe(true)
      expect(checkWork('chällenge', nonce, bits + 1)).toBe(false)
    }
  })

  test.each([
    ['1 character', '!', true],
    ['128 characters', '~'.repeat(128), true],
    ['none', '', false],
    ['129 characters', '~'.repeat(129), false],
    ['a space', 'a b', false],
    ['DEL', '\x7f', false],
    ['a line feed after', 'a\n', false],
    ['a letter past ASCII', 'é', false],
  ])('the nonce is 1 to 128 printable ASCII characters: %s', (_, nonce, accepted) => {
    expect(checkWork('challenge', nonce, 0)).toBe(accepted)
  })

  test.each([0, 1, 8, 12])('a nonce of difficulty %d is found and accepted', async (difficulty) => {
    for (const challenge of ['', 'short', 'c'.repeat(200)]) {
      const nonce = await solveWork(challenge, difficulty)
      expect(checkWork(challenge, nonce, difficulty)).toBe(true)
    }
  })

  test('it reports progress, yields to the event loop, and can be stopped', async () => {
    const controller = new AbortController()
    const reports: SolveProgress[] = []
    let turns = 0
    const timer = setInterval(() => turns++, 1)
    const search = solveWork('unsolvable', 256, {
      signal: controller.signal,
      onProgress: (progress) => {
        reports.push(progress)
        if (turns > 2 && reports.length > 2) controller.abort(new Error('enough'))
      },
    })
    await expect(search).rejects.toThrow('enough')
    clearInterval(timer)
    expect(reports.every(({ expectedHashes }) => expectedHashes === 2 ** 256)).toBe(true)
    expect(reports.map(({ hashes }) => hashes)).toEqual(reports.map(({ hashes }) => hashes).sort((a, b) => a - b))
    expect(reports[0]?.hashes).toBeGreaterThan(0)
  })

  test('without setImmediate, as in browsers, it uses messages and leaves nothing open', async () => {
    vi.stubGlobal('setImmediate', undefined)
    let slices = 0
    const stop = new AbortController()
    const onProgress = () => ++slices === 3 && stop.abort(new Error('enough'))
    await expect(solveWork('unsolvable', 256, { signal: stop.signal, onProgress })).rejects.toThrow('enough')
    expect(slices).toBe(3)
    expect(process.getActiveResourcesInfo()).not.toContain('MessagePort')
  })

  test('a signal that is already aborted prevents the search', async () => {
    await expect(solveWork('c', 0, { signal: AbortSignal.abort(new Error('never mind')) })).rejects.toThrow(
      'never mind',
    )
  })

  test.each([-1, 1.5, 257, Number.NaN])('difficulty %d is a RangeError', async (difficulty) => {
    await expect(solveWork('c', difficulty)).rejects.toThrow(RangeError)
  })
})
