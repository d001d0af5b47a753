import { loadConsole } from '@svc/console/build/files.ts'
import { expect, test } from 'vitest'

const FIRST_SCREEN_BYTES = 120 * 1024

test('the first screen is at most 120 KB, compressed', async () => {
  const first = [...(await loadConsole()).values()].filter(({ isFirst }) => isFirst)
  const bytes = first.reduce((sum, { gzipBytes }) => sum + gzipBytes, 0)
  expect(bytes).toBeLessThan(FIRST_SCREEN_BYTES)
  // The code of the console is among them, and code that only some pages need is not.
  expect(bytes).toBeGreaterThan(30_000)
  expect((await loadConsole()).size).toBeGreaterThan(first.length)
})

test('nothing is served that only developers need, and the page has no inline script', async () => {
  const files = await loadConsole()
  expect([...files.keys()].filter((name) => name.endsWith('.map'))).toEqual([])
  for (const { name, plain } of files.values()) expect(plain.includes('sourceMappingURL'), name).toBe(false)
  expect(files.get('index.html')?.plain.toString()).not.toMatch(/<script(?![^>]*\ssrc=)|\son\w+=|javascript:|<style/i)
})
