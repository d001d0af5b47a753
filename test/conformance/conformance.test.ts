import { describe, expect, test } from 'vitest'
import { isOf, sectionsCitedBy } from './cite.ts'
import { conformanceOf } from './page.ts'
import { ROWS } from './rows.ts'
import { sectionsOf } from './sections.ts'

describe('the citations in the name of a test', () => {
  test.each([
    ['spec 7.4: a retry', ['7.4']],
    ['spec 6.5, 11.2: size', ['6.5', '11.2']],
    ['spec 6.5 and 11.2: size', ['6.5', '11.2']],
    ['spec 6.5; ADR 21; spec 11.2: size', ['6.5', '11.2']],
    ['lists > spec 7.9: order > by id', ['7.9']],
    ['spec 3.5: order > spec 3.7: nonces', ['3.5', '3.7']],
    ['a rule that mentions spec 7.4: in passing', []],
    ['unlike spec 7.4', []],
    ['spec 7.4a: a slip', []],
    ['spec 7: a chapter', []],
  ])('%s', (name, sections) => {
    expect([...sectionsCitedBy(name)]).toEqual(sections)
  })

  test('a row of a table also needs its subject in the name', () => {
    const row = { section: '11.7', about: 'page size', says: /page/ }
    const of = (name: string): boolean => isOf(row, { file: 'a.test.ts', name })
    expect(of('spec 11.7: a page has 50')).toBe(true)
    expect(of('spec 11.7: a name has 3')).toBe(false)
    expect(of('a page: spec 11.7')).toBe(false)
  })

  test('the path of an endpoint must be complete, with any variable parts', () => {
    const row = ROWS.find(({ about }) => about === 'GET /v2/messages/{id}')
    const of = (path: string): boolean | undefined =>
      row && isOf(row, { file: 'a.test.ts', name: `spec 12.1: GET ${path}: its body` })
    expect([of('/v2/messages/{id}'), of('/v2/messages/absent-message')]).toEqual([true, true])
    expect([of('/v2/messages'), of('/v2/messages/{id}/receipts'), of('/v2/messages/{id}/vote')]).toEqual([
      false,
      false,
      false,
    ])
  })
})

describe('the sections of the specification', () => {
  test('are read from its headings, and some hold no rule', () => {
    const text = '# 2 Formats\n\n## 2.1 Times\n\nSeconds.\n\n## 2.2 A drawing\n\n_This section holds no rule._\n'
    const common = { chapter: '2 Formats', file: 'a.md' }
    expect(sectionsOf('a.md', text)).toEqual([
      { ...common, number: '2.1', title: 'Times', holdsRules: true },
      { ...common, number: '2.2', title: 'A drawing', holdsRules: false },
    ])
  })
})

describe('the page', () => {
  const rows = [
    { section: '2.1', about: 'times' },
    { section: '9.7', about: 'streams' },
  ]
  const named = { file: 'test/e2e/times.test.ts', name: 'spec 2.1: a time | a [day]' }

  test('has the tests of each row, and a row without a test is a problem', () => {
    const { page, problems } = conformanceOf([named], rows)
    expect(page).toContain(
      '| 2.1 | times | [e2e/times](../test/e2e/times.test.ts) | spec 2.1: a time \\| a \\[day\\] |',
    )
    expect(problems).toEqual(['spec 9.7 (streams) has no test'])
  })

  test('ends with the faults that the suite finds, which are no tests of a row', () => {
    const mutant = {
      file: 'clients/conformance/test/mutants.test.ts',
      name: 'spec 9.7: the suite finds a server where it never ends',
    }
    const fault = { spec: '9.7', fault: 'a stream [never] ends', caught_by: 'events/stream/end' }
    const { page, problems } = conformanceOf([named, mutant], rows, [fault])
    expect(page).toMatch(/\| 9\.7 \| a stream \\\[never\\\] ends \| events\/stream\/end \|\n$/)
    expect(problems).toEqual(['spec 9.7 (streams) has no test'])
  })
})
