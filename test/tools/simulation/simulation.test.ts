import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { POSTGRES_PARTS, PRIMARY, UTILISATION } from './inputs.ts'
import { limitsOf, logBytes, perCore, planFor, planStreams, WHOLE } from './plan.ts'
import { RATES } from './plan-tables.ts'
import { fillPage, renderTables } from './tables.ts'

const PAGE = readFileSync(new URL('../../../docs/operating/scale.md', import.meta.url), 'utf8')

test('docs/operating/scale.md has the tables that the plans render (npx pnpm simulate writes them)', () => {
  expect(PAGE).toBe(fillPage(PAGE, renderTables()))
})

describe('the plans', () => {
  test('the parts of Postgres add up to its total', () => {
    expect(Object.values(POSTGRES_PARTS).reduce((sum, part) => sum + part, 0)).toBeCloseTo(1)
  })

  test('no primary and no process gets more load than it can handle', () => {
    for (const rate of RATES) {
      const plan = planFor(rate)
      for (const limit of Object.values(limitsOf(WHOLE))) expect(rate / plan.cells).toBeLessThanOrEqual(limit)
      for (const [service, count] of Object.entries(plan.processes)) {
        expect(rate / count).toBeLessThanOrEqual(perCore(service as 'gateway') * 1.0001)
      }
    }
  })

  test('at the limit of its log, a primary writes as much as is planned', () => {
    expect(logBytes(WHOLE, limitsOf(WHOLE).log) / 1e6).toBeCloseTo(PRIMARY.logMbPerSecond * UTILISATION)
  })

  test('the cost of a million messages does not rise with their number', () => {
    const costs = RATES.map((rate) => Object.values(planFor(rate).cost).reduce((sum, each) => sum + each, 0))
    expect(costs).toEqual(costs.toSorted((a, b) => b - a))
  })

  test('spec 11.7: 200 streams in a process', () => {
    expect(planStreams(1_000_000).streamProcesses).toBe(5_000)
  })

  test('a page without a place for a table is an error', () => {
    expect(() => fillPage('', { units: '' })).toThrow('units')
  })
})
