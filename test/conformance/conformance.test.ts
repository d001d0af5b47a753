import { describe, expect, test } from 'vitest'
import { isOf, sourcesOf } from './cite.ts'
import { conformanceOf } from './page.ts'
import { ROWS } from './rows.ts'

describe('what the name of a test cites', () => {
  test.each([
    ['decisions 18: a retry', ['decisions 18']],
    ['decisions 17, 24: size', ['decisions 17', 'decisions 24']],
    ['decisions 15–17: size', ['decisions 15', 'decisions 16', 'decisions 17']],
    ['service.md, Limits: a page', ['service.md, Limits']],
    ['service.md Limits: a page', ['service.md, Limits']],
    ['service.md, Limits; decisions 7: a page', ['service.md, Limits', 'decisions 7']],
    ['service.md Limits, decisions 20: ts', ['service.md, Limits', 'decisions 20']],
    [
      'service.md, Endpoint rules 2, 4; decisions 21: lists',
      ['service.md, Endpoint rules 2', 'service.md, Endpoint rules 4', 'decisions 21'],
    ],
    ['service.md, Budget rules; design, Charging: costs', ['service.md, Budget rules']],
    ['lists > decisions 35: order > by id', ['decisions 35']],
    ['decisions 8: order > decisions 5: nonces', ['decisions 8', 'decisions 5']],
    ['a rule that mentions decisions 18: in passing', []],
    ['unlike decisions 18', []],
    ['decisions 18a: a slip', []],
    ['decisions: none', []],
  ])('%s', (name, sources) => {
    expect([...sourcesOf(name)]).toEqual(sources)
  })

  test('a row of a table is named by what it is about too', () => {
    const row = { source: 'service.md, Limits', about: 'page size', says: /page/ }
    const of = (name: string): boolean => isOf(row, { file: 'a.test.ts', name })
    expect(of('service.md, Limits: a page has 50')).toBe(true)
    expect(of('service.md, Limits: a name has 3')).toBe(false)
    expect(of('a page: service.md, Limits')).toBe(false)
  })

  test('a path of an endpoint is named whole, whatever its variable parts are', () => {
    const row = ROWS.find(({ about }) => about === 'GET /v2/messages/{id}')
    const of = (path: string): boolean | undefined =>
      row && isOf(row, { file: 'a.test.ts', name: `service.md, Endpoints: GET ${path}: its body` })
    expect([of('/v2/messages/{id}'), of('/v2/messages/absent-message')]).toEqual([true, true])
    expect([of('/v2/messages'), of('/v2/messages/{id}/receipts'), of('/v2/messages/{id}/vote')]).toEqual([
      false,
      false,
      false,
    ])
  })
})

describe('the page', () => {
  const rows = [
    { source: 'decisions 1', about: 'times' },
    { source: 'decisions 2', about: 'streams', notBuilt: true },
  ] as const
  const named = { file: 'test/e2e/times.test.ts', name: 'decisions 1: a time | a [day]' }

  test('has the tests of each row, and says how many rows are not built', () => {
    const { page, problems } = conformanceOf([named], rows)
    expect(problems).toEqual([])
    expect(page).toContain('2 rows: 1 have tests, 1 are not built yet.')
    expect(page).toContain(
      '| 1. times | [e2e/times](../test/e2e/times.test.ts) | decisions 1: a time \\| a \\[day\\] |',
    )
    expect(page).toContain('| 2. streams | not built yet | |')
  })

  test('a row without a test is a problem, and so is one that is tested although it is not built', () => {
    expect(conformanceOf([], rows).problems).toEqual(['decisions 1 (times) has no test'])
    expect(conformanceOf([{ ...named, file: 'test/conformance/a.test.ts' }], rows).problems).toHaveLength(1)
    const early = { file: 'a.test.ts', name: 'decisions 2: early' }
    expect(conformanceOf([named, early], rows).problems).toHaveLength(1)
  })

  test('every decision and every numbered rule has one row, and no two rows are the same', () => {
    const sources = ROWS.map(({ source }) => source)
    for (let number = 1; number <= 52; number += 1) {
      expect(sources.filter((source) => source === `decisions ${number}`)).toHaveLength(1)
    }
    for (let number = 1; number <= 12; number += 1) {
      expect(sources.filter((source) => source === `service.md, Endpoint rules ${number}`)).toHaveLength(1)
    }
    expect(new Set(ROWS.map(({ source, about }) => `${source}: ${about}`)).size).toBe(ROWS.length)
  })

  test('the specification is not in the repository, and its words are not either', () => {
    for (const { about } of ROWS) expect(about.length).toBeLessThan(90)
  })
})
