/** Compares the table of docs/architecture.md, Bounds, with the code. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = new URL('../../../', import.meta.url)
const UNITS: Record<string, number> = { Ki: 1024, Mi: 1024 * 1024 }

const rows = boundsOf(readFileSync(fileURLToPath(new URL('docs/architecture.md', ROOT)), 'utf8'))

interface Bound {
  readonly queue: string
  readonly value: number
  readonly name: string
  readonly file: string
}

function boundsOf(page: string): Bound[] {
  const section = page.slice(page.indexOf('## Bounds'), page.indexOf('## Citations'))
  return [...section.matchAll(/^\| (.+?) +\| ([\d,]+)(?: (Ki|Mi))? +\| `(\w+)` in `(\S+)` +\|/gm)].map(
    ([, queue = '', digits = '', unit = '', name = '', file = '']) => ({
      queue,
      value: Number(digits.replaceAll(',', '')) * (UNITS[unit] ?? 1),
      name,
      file,
    }),
  )
}

/** The value that the code gives a constant, a member or the default of a variable: a number, or a product of numbers. */
function valueIn(source: string, name: string): number | undefined {
  const direct = new RegExp(`\\b${name}(?:: number)?(?: =|:) ([\\d_]+(?: \\* [\\d_]+)*)`).exec(source)?.[1]
  if (direct !== undefined) return productOf(direct)
  const given = new RegExp(`'${name}', \\{ default: (\\w+)`).exec(source)?.[1]
  if (given === undefined) return undefined
  return /^\d/.test(given) ? productOf(given) : valueIn(source, given)
}

function productOf(text: string): number {
  return text.split(' * ').reduce((product, factor) => product * Number(factor.replaceAll('_', '')), 1)
}

test('every row of the table is read', () => {
  const page = readFileSync(fileURLToPath(new URL('docs/architecture.md', ROOT)), 'utf8')
  const lines = page.slice(page.indexOf('## Bounds'), page.indexOf('## Citations')).match(/^\|/gm)
  expect(rows.length).toBe((lines?.length ?? 0) - 2)
  expect(rows.length).toBeGreaterThan(20)
})

test.each(rows)('$queue: $value', ({ value, name, file }) => {
  expect(valueIn(readFileSync(fileURLToPath(new URL(file, ROOT)), 'utf8'), name)).toBe(value)
})
