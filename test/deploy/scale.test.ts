/** The figures of docs/operating/scale.md: each computed line names its factors, and the measured ones are in docs/performance.md. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const page = read('operating/scale.md')
const [storageRun = ''] = /<!-- run storage:[\s\S]*?<!-- end of run -->/.exec(read('performance.md')) ?? []
/** A cell of a table such as `900 B × 86,400 = 78 MB`. */
const lines = [...page.matchAll(/\| (\d[^|=]*) = (\d[^|]*?) +(?=\|)/g)].map(([, left = '', right = '']) => ({
  left,
  right,
}))
/** Rounding to two digits changes a figure by less than this. */
const ROUNDED = 0.05

const UNITS: Record<string, number> = {
  '%': 0.01,
  ms: 0.001,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  GiB: 1024 ** 3,
}

test('the table of measured figures quotes one run of docs/performance.md, with its date', () => {
  const [table = ''] = /<!-- table: measured -->[\s\S]*?<!-- end -->/.exec(page) ?? []
  const figures = [...table.matchAll(/\| ([\d.,]+) (?:B|ms) +\|/g)].map(([, figure = '']) => figure.replaceAll(',', ''))
  expect(figures.length).toBeGreaterThan(8)
  expect(figures.filter((figure) => !new RegExp(`[| ]${figure}[ ,]`).test(storageRun.replaceAll('\n', ' ')))).toEqual([])
  expect(page).toContain(/On ([\d-]+):/.exec(storageRun)?.[1])
})

test('docs/operating/scale.md has computed lines', () => {
  expect(lines.length).toBeGreaterThan(8)
})

test.each(lines)('$left = $right', ({ left, right }) => {
  expect(Math.abs(sumOf(left) / sumOf(right) - 1)).toBeLessThan(ROUNDED)
})

function sumOf(text: string): number {
  return text.split(' + ').reduce((sum, term) => sum + productOf(term), 0)
}

function productOf(term: string): number {
  const [first = '', ...factors] = term.split(/ (?=[×÷] )/)
  return factors.reduce(
    (product, factor) =>
      factor.startsWith('×') ? product * valueOf(factor.slice(2)) : product / valueOf(factor.slice(2)),
    valueOf(first),
  )
}

/** A number with its unit. Words such as `seconds` do not change it. */
function valueOf(text: string): number {
  const [, digits = '', unit = ''] = /^([\d.,]+) ?(\S*)/.exec(text) ?? []
  return Number(digits.replaceAll(',', '')) * (UNITS[unit] ?? 1)
}

function read(name: string): string {
  return readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8')
}
