import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Told } from './told.ts'

const MOST = 1_000
const SECOND = 1_000

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-told-'))
  vi.useFakeTimers({ toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
  rmSync(folder, { recursive: true })
})

test('a message older than all that are remembered may have been told, once there are as many as it can remember', () => {
  const told = new Told(folder)
  vi.setSystemTime(100 * SECOND)
  for (let count = 1; count < MOST; count += 1) told.add(`message-${count}`)
  expect(told.mayHaveForgotten(99)).toBe(false)
  told.add(`message-${MOST}`)
  expect([told.mayHaveForgotten(99), told.mayHaveForgotten(100)]).toEqual([true, false])
})

test('a message is told once', () => {
  const told = new Told(folder)
  expect([told.add('message-1'), told.add('message-1'), new Told(folder).add('message-1')]).toEqual([
    true,
    false,
    false,
  ])
})
