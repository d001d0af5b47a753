import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { heapArgs } from './heap.ts'

test('the young generation never exceeds its limit', () => {
  // Arrays that live long enough to make V8 grow its young generation.
  const script = `
    const kept = []
    for (let at = 0; at < 200000; at += 1) kept[at % 20000] = new Array(100).fill(at)
    const { getHeapSpaceStatistics } = require('node:v8')
    process.stdout.write(String(getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size))`
  const bytes = Number(execFileSync(process.execPath, [...heapArgs('messaging'), '-e', script], { encoding: 'utf8' }))
  expect(bytes).toBeGreaterThan(0)
  // Two semi-spaces: one is filled, and the other takes the survivors.
  expect(bytes).toBeLessThan(2 * 17 * 1024 * 1024)
})
