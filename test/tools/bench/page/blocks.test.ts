import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { blocksOf, fillBlock, quoteFigures } from './blocks.ts'

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
const PAGE = readFileSync(`${ROOT}docs/performance.md`, 'utf8')
const README = readFileSync(`${ROOT}README.md`, 'utf8')

const EMPTY = `Before.

<!-- run one: npx pnpm bench one --chart docs/performance/one.svg -->
<!-- end of run -->

<!-- run two: npx pnpm bench two -->
<!-- end of run -->
`

test('README.md quotes the figures that docs/performance.md has', () => {
  expect(quoteFigures(README, PAGE)).toBe(README)
})

test('the quoted figures are found by the names of their columns', () => {
  const page = `
| connections |            | accepted/s | of one process | of one with libsodium | of Fastify | p50 ms |
| ----------- | ---------- | ---------- | -------------- | --------------------- | ---------- | ------ |
| 64          | the system | 1767       | 0.39           | 0.28                  | 0.056      | 34.59  |`
  const quoted = quoteFigures(README, page)
  expect(quoted).toContain('accepts 0.39 times')
  expect(quoted).toContain('0.056 times as many as Fastify')
  expect(quoted).toContain('\n35 ms.')
})

test('each chart that docs/performance.md shows is committed', () => {
  const charts = [...PAGE.matchAll(/\]\((performance\/\S+\.svg)\)/g)].map(([, path]) => `${ROOT}docs/${path}`)
  expect(charts.length).toBeGreaterThan(0)
  expect(charts.filter((path) => !existsSync(path))).toEqual([])
})

test('each block of docs/performance.md has a unique name, and text', () => {
  const names = blocksOf(PAGE).map(({ name }) => name)
  expect(names.length).toBeGreaterThan(10)
  expect(new Set(names).size).toBe(names.length)
  expect(PAGE).not.toMatch(/<!-- run .+ -->\n+<!-- end of run -->/)
})

test('a run replaces the output of its own block, and shows the chart', () => {
  const output =
    '\n> name@2.0.0 bench /somewhere\n> node main.ts one\n\n| a |\n|---|\n| 1 |\n\nchart: docs/performance/one.svg\n'
  const once = fillBlock(EMPTY, 'one', { setting: 'On 2026-11-24.', output })
  expect(once).toContain(
    '```\n\nOn 2026-11-24.\n\n| a |\n|---|\n| 1 |\n\n![The chart that this command writes](performance/one.svg)\n\n<!-- end of run -->',
  )
  expect(once).toContain('<!-- run two: npx pnpm bench two -->\n<!-- end of run -->')
  expect(fillBlock(once, 'one', { setting: 'On 2026-11-24.', output })).toBe(once)
})
