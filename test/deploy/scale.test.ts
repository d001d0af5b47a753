/** The figures of docs/operating/scale.md: each computed line names its factors, and the measured ones are in docs/performance.md. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const page = read('operating/scale.md')
const performance = read('performance.md')
const runs = ['send', 'storage'].map(
  (name) => new RegExp(`<!-- run ${name}:[\\s\\S]*?<!-- end of run -->`).exec(performance)?.[0] ?? '',
)
/** A cell of a table such as `900 B × 86,400 = 78 MB`. */
const lines = [...page.matchAll(/\| (\d[^|=]*) = (\d[^|]*?) +(?=\|)/g)].map(([, left = '', right = '']) => ({
  left,
  right,
}))
/** Rounding to two digits changes a figure by less than this. */
const ROUNDED = 0.05

const UNITS: Record<string, number> = {
  '': 1,
  '%': 0.01,
  ms: 0.001,
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
}

test('the measured figures are those of one day in docs/performance.md', () => {
  const [table = ''] = /<!-- table: measured -->[\s\S]*?<!-- end -->/.exec(page) ?? []
  const figures = [...table.matchAll(/\| ([\d.,]+) (?:B|ms) +\|/g)].map(([, figure = '']) => figure.replaceAll(',', ''))
  expect(figures).toHaveLength(14)
  const known = new Set(runs.join().match(/[\d.]+\d/g))
  expect(figures.filter((figure) => !known.has(figure))).toEqual([])
  for (const run of runs) expect(page).toContain(`measured on ${/On ([\d-]+):/.exec(run)?.[1]}`)
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
      factor.startsWith('×') ? product * amountOf(factor.slice(2)) : product / amountOf(factor.slice(2)),
    amountOf(first),
  )
}

/** A number with its unit. An unknown unit is NaN, so that the line fails. */
function amountOf(text: string): number {
  const [, digits = '', unit = ''] = /^([\d.,]+) ?(\S*)/.exec(text) ?? []
  return Number(digits.replaceAll(',', '')) * (UNITS[unit] ?? Number.NaN)
}

function read(name: string): string {
  return readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8')
}
