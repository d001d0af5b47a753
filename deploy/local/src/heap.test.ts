import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { HEAP_ARGS } from './heap.ts'

test('the image starts its services with the same heap', () => {
  const dockerfile = readFileSync(new URL('../../image/Dockerfile', import.meta.url), 'utf8')
  expect(dockerfile.match(/^ENV NODE_OPTIONS=(.*)$/m)?.[1]).toBe(HEAP_ARGS.join(' '))
})

test('what is young never takes more than it may', () => {
  // Arrays that live long enough to have V8 grow what it has for the young.
  const script = `
    const kept = []
    for (let at = 0; at < 200000; at += 1) kept[at % 20000] = new Array(100).fill(at)
    const { getHeapSpaceStatistics } = require('node:v8')
    process.stdout.write(String(getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size))`
  const bytes = Number(execFileSync(process.execPath, [...HEAP_ARGS, '-e', script], { encoding: 'utf8' }))
  expect(bytes).toBeGreaterThan(0)
  // Two halves, of which one is filled while the other takes what survives.
  expect(bytes).toBeLessThan(2 * 17 * 1024 * 1024)
})
