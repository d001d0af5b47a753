import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openProgress, type Progress } from './progress.ts'

const OWNER = { agentId: 'agent', authority: 'agents.example' }

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-progress-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const open = (at = 0): Promise<Progress> => openProgress(folder, OWNER, async () => at)

describe('progress', () => {
  test('starts at the given cursor the first time, and later at the stored cursor', async () => {
    expect((await open(7)).cursor).toBe(7)
    expect((await open(99)).cursor).toBe(7)
  })

  test('the cursor waits for the first event that is not finished', async () => {
    const progress = await open()
    for (const cursor of [1, 2, 3]) progress.take(cursor)
    progress.finish(3)
    progress.finish(2)
    expect(progress.cursor).toBe(0)
    progress.finish(1)
    expect(progress.cursor).toBe(3)
    progress.pass(8)
    expect(progress.cursor).toBe(8)
  })

  test('counts attempts over restarts, without interrupted ones', async () => {
    const first = await open()
    first.take(1)
    expect(first.begin(1)).toBe(1)
    const second = await open()
    second.take(1)
    expect(second.begin(1)).toBe(2)
    second.giveBack(1)
    expect((await open()).begin(1)).toBe(2)
  })

  test.each(['', '{', '[]', '{"version":1}', '{"version":1,"cursor":-1,"finished":[],"succeeded":[],"attempts":{}}'])(
    'a damaged file (%j) is reported and not overwritten',
    async (text) => {
      writeFileSync(join(folder, 'progress.json'), text)
      await expect(open()).rejects.toThrow('is damaged')
      expect(readFileSync(join(folder, 'progress.json'), 'utf8')).toBe(text)
    },
  )

  test('refuses the file of another agent', async () => {
    await open()
    await expect(openProgress(folder, { ...OWNER, agentId: 'other' }, async () => 0)).rejects.toThrow(
      'belongs to agent',
    )
  })

  test('for any order of steps and restarts, every event is finished, and the cursor passes no unfinished event', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.boolean(), { minLength: 1, maxLength: 8 }),
        fc.array(fc.nat(), { minLength: 10, maxLength: 60 }),
        async (wanted, choices) => {
          rmSync(join(folder, 'progress.json'), { force: true })
          const done = new Set<number>()
          let progress = await open()
          let next = 1
          const underWay = new Set<number>()
          const begin = (): void => {
            const cursor = next
            next += 1
            if (progress.isFinished(cursor) || wanted[cursor - 1] !== true) progress.pass(cursor)
            else {
              progress.take(cursor)
              underWay.add(cursor)
            }
          }
          for (const choice of [
            ...choices,
            ...Array<number>(2 * wanted.length).fill(1),
            ...Array<number>(20).fill(2),
          ]) {
            if (choice % 5 === 0) {
              // The process is killed and started again.
              progress = await open()
              next = progress.cursor + 1
              underWay.clear()
            } else if (choice % 5 === 1 && next <= wanted.length) begin()
            else if (underWay.size > 0) {
              const cursor = [...underWay][choice % underWay.size] ?? 0
              underWay.delete(cursor)
              done.add(cursor)
              progress.finish(cursor)
            }
            const stored = JSON.parse(readFileSync(join(folder, 'progress.json'), 'utf8')).cursor
            for (let at = 1; at <= stored; at += 1) if (wanted[at - 1] === true) expect(done).toContain(at)
          }
          expect(progress.cursor).toBe(wanted.length)
        },
      ),
      { numRuns: 200 },
    )
  })
})
