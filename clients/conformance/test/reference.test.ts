/** The suite against the reference server: an implementation by the specification alone passes every case that it can be asked. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lineOf } from '../src/report/text.ts'
import { allCases, runCases } from '../src/run/suite.ts'
import { PROFILES, type Profile, profileOf, type ReferenceSetting, startSetting } from './reference-setting.ts'

const AT_ONCE = 12

describe.each(PROFILES)('profile %s', (profile: Profile) => {
  const cases = allCases().filter((one) => profileOf(one) === profile)
  let setting: ReferenceSetting
  beforeAll(async () => {
    setting = await startSetting(profile)
  })
  afterAll(() => setting[Symbol.asyncDispose]())

  test('spec 1.4: the reference server passes every case', async () => {
    const results = await runCases(cases, setting, { atOnce: AT_ONCE })
    expect(results.filter(({ status }) => status !== 'passed').map(lineOf)).toEqual([])
  })
})
