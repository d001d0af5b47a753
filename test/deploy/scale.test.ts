/** The figures of docs/operating/scale.md: where each measured one is in docs/performance.md, and that each sum is right. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const page = read('operating/scale.md')
const performance = read('performance.md')

/** A figure of the page, the run of docs/performance.md that prints it, and how. The first 15 are the rows of its table. */
const MEASURED: readonly (readonly [figure: string, run: string, printed: RegExp])[] = [
  ['1,096 B', 'storage', /messaging\.messages, with its indexes +\| (\d+)/],
  ['257 B', 'storage', /messaging\.entries, with its indexes +\| (\d+)/],
  ['859 B', 'storage', /budget\.reservations, with its indexes +\| (\d+)/],
  ['104 B', 'storage', /messaging\.ids, with its indexes +\| (\d+)/],
  ['719 B', 'storage', /stream ACCEPTED +\| (\d+)/],
  ['3,977 B', 'storage', /log of Postgres \(WAL\) +\| (\d+)/],
  ['187 B', 'storage', /WAL of (?:deleting and )?vacuum, later +\| (\d+)/],
  ['0.212 ms', 'send', /- the system: .*?postgres ([\d.]+)/],
  ['0.003 ms', 'storage', /vacuum cost Postgres ([\d.]+) ms/i],
  ['0.233 ms', 'send', /- the system: .*?gateway ([\d.]+)/],
  ['0.095 ms', 'send', /- the system: .*?messaging ([\d.]+)/],
  ['0.067 ms', 'send', /- the system: .*?nats ([\d.]+)/],
  ['0.049 ms', 'send', /- the system: .*?budget ([\d.]+)/],
  ['0.034 ms', 'send', /- the system: .*?webhook ([\d.]+)/],
  ['0.029 ms', 'send', /- the system: .*?identity ([\d.]+)/],
  ['41 B', 'steady', /messaging\.ids_pkey +\| \d+ +\| (\d+)/],
  ['25 KiB', 'idle', /stream (\d+), gateway \d+/],
  ['27 KiB', 'idle', /stream \d+, gateway (\d+)/],
  ['10.3 %', 'idle', /\| sum +\| ([\d.]+)/],
  ['4.5 ms', 'idle', /Opening costs ([\d.]+) ms/],
  ['92 MiB', 'overload', /\| stream +\| \d+ +\| \d+ +\| (\d+)/],
]
const TABLE_ROWS = 15

/** Amounts that the page assumes, and says so beside them. */
const ASSUMED = ['8,192 B', '60 %', '70 %', '125 %', '133 %', '16 TB', '64 TB', '250 MB', '1,000 MB', '100 B', '1 KB']
/** The volumes of the manifests. */
const VOLUMES = ['100 GiB', '10 GiB']

const UNITS: Record<string, number> = {
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
const AMOUNT = String.raw`\d(?:[\d.,]*\d)?(?: (?:${Object.keys(UNITS).join('|')})(?!\w))?`
/** For example `900 B × 86,400 × 1,000 = 78 GB`. */
const SUMS = [...page.matchAll(new RegExp(`(${AMOUNT}(?: [×÷+] ${AMOUNT})+) = (${AMOUNT})`, 'g'))].map(
  ([, left = '', right = '']) => ({ left, right }),
)

test.each(MEASURED)('%s is printed by the run %s', (figure, name, printed) => {
  expect(printed.exec(runOf(name))?.[1]).toBe(figure.replace(/ .*/, '').replaceAll(',', ''))
})

test('the table of measured figures has these, and names the day of the runs', () => {
  const [table = ''] = /<!-- table: measured -->[\s\S]*?<!-- end -->/.exec(page) ?? []
  const figures = [...table.matchAll(/\| (\d[\d.,]* (?:B|ms)) +\|/g)].map(([, figure]) => figure)
  expect(figures).toEqual(MEASURED.slice(0, TABLE_ROWS).map(([figure]) => figure))
  for (const name of ['send', 'storage']) {
    expect(page).toContain(`measured on ${/On ([\d-]+):/.exec(runOf(name))?.[1]}`)
  }
})

test('every `=` between figures of the page is a sum that this test computes', () => {
  expect(SUMS).toHaveLength(page.match(/= \d/g)?.length ?? 0)
  expect(SUMS.length).toBeGreaterThan(50)
})

test.each(SUMS)('$left = $right', ({ left, right }) => {
  const digits = right.replace(/ .*/, '').replaceAll(',', '')
  const decimals = /\.(\d+)$/.exec(digits)?.[1]?.length ?? 0
  const lastDigit = decimals > 0 ? 10 ** -decimals : 10 ** (/0*$/.exec(digits)?.[0].length ?? 0)
  const value = sumOf(left) / (amountOf(right) / Number(digits))
  expect(Math.abs(value - Number(digits))).toBeLessThanOrEqual((lastDigit / 2) * 1.0001)
})

test('every amount in a sum is measured, assumed, or the result of a sum before it', () => {
  const known = new Set([...MEASURED.map(([figure]) => figure), ...ASSUMED, ...VOLUMES])
  const unknown = SUMS.flatMap(({ left, right }) => {
    const amounts = left.split(/ [×÷+] /).filter((amount) => amount.includes(' ') && !known.has(amount))
    known.add(right)
    return amounts.map((amount) => `${amount} in ${left}`)
  })
  expect(unknown).toEqual([])
})

test('the first table has the results', () => {
  const [rates = ''] = /\| messages a second, on average[\s\S]*?\n\n/.exec(page) ?? []
  const results = new Set(SUMS.map(({ right }) => right))
  const given = [...rates.matchAll(/^\| ([\d,]+) +\|/gm)].map(([, rate = '']) => rate)
  expect(given.filter((rate) => !results.has(rate))).toEqual(['1,000', '2,000'])
})

function runOf(name: string): string {
  return new RegExp(`<!-- run ${name}:[\\s\\S]*?<!-- end of run -->`).exec(performance)?.[0] ?? ''
}

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

function amountOf(text: string): number {
  const [digits = '', unit] = text.split(' ')
  return Number(digits.replaceAll(',', '')) * (unit === undefined ? 1 : (UNITS[unit] ?? Number.NaN))
}

function read(name: string): string {
  return readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8')
}
