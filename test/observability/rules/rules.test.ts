import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { lacks } from '../../support/run/lacks.ts'
import { PLATFORM_CASES } from './platform-cases.ts'
import { NO_PROMTOOL, type RuleGroup, runBesideOthers, runCases } from './promtool.ts'
import { SERVICE_CASES } from './service-cases.ts'

const FOLDER = fileURLToPath(new URL('../../../deploy/observability/rules/', import.meta.url))
const GROUPS = globSync('*.yaml', { cwd: FOLDER }).flatMap(
  (name) => (parse(readFileSync(FOLDER + name, 'utf8')) as { groups: RuleGroup[] }).groups,
)
const CASES = { ...SERVICE_CASES, ...PLATFORM_CASES }

test('every alert has a case that fires and one that does not', () => {
  const alerts = GROUPS.flatMap(({ rules }) => rules.flatMap(({ alert }) => alert ?? []))
  expect(Object.keys(CASES).sort()).toEqual(alerts.sort())
  const lacking = Object.entries(CASES).filter(
    ([name, { fires, quiet }]) => fires.length === 0 || (quiet.length === 0 && name !== 'SvcWatchdog'),
  )
  expect(lacking).toEqual([])
})

describe.skipIf(lacks(NO_PROMTOOL))('promtool', () => {
  test('every alert fires when it should, and only then', () => {
    expect(runCases(GROUPS, CASES)).toBe('')
  }, 400_000)

  test('a deployment that is well does not hide one that is ill', () => {
    // Some exporters serve the whole cluster. The cases above have one deployment beside another.
    const { SvcExporterGone: _, ...ofDeployments } = CASES
    expect(runBesideOthers(GROUPS, ofDeployments)).toBe('')
  }, 400_000)

  test('a wrong case is found', () => {
    const { SvcLoopStalled } = SERVICE_CASES
    if (SvcLoopStalled === undefined) throw new Error('there is no such case')
    const { at, fires, quiet } = SvcLoopStalled
    const told = runCases(GROUPS, { SvcLoopStalled: { at, fires: quiet, quiet: fires } })
    expect(told.match(/exp:/g)?.length).toBe(2)
  })
})
