/** The suite finds faults: a copy of the reference server that breaks one rule fails a case, which the reference server itself passes. */
import { expect, test } from 'vitest'
import { allCases, runCase } from '../src/run/suite.ts'
import { profileOf, startSetting } from './reference-setting.ts'
import { MUTANTS, spoil } from './spoilt.ts'

const CASES = new Map(allCases().map((one) => [one.id, one]))

for (const mutant of MUTANTS)
  test.concurrent(`spec ${mutant.spec}: the suite finds a server where ${mutant.fault}`, async () => {
    const one = CASES.get(mutant.caught_by) ?? expect.unreachable(`there is no case ${mutant.caught_by}`)
    const profile = profileOf(one) ?? expect.unreachable(`the reference server cannot run ${one.id}`)
    await using setting = await startSetting(profile, await spoil(mutant))
    const { status, reason } = await runCase(one, setting)
    expect(status, reason).toBe('failed')
  })
