/** Linters of OpenAPI descriptions on the served `/openapi.json`: @redocly/cli and Spectral, each with its recommended rules. */
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { shareHarness } from '../../support/system/harness.ts'
import { type ExpectedFailures, expectOnly } from '../expected.ts'
import { runJudge } from '../run-judge.ts'
import { type ServedDescription, saveDescription } from './served-description.ts'

const RULESET = fileURLToPath(new URL('spectral.yaml', import.meta.url))

const REDOCLY: ExpectedFailures = {
  'info-license at #/info': 'no licence has been chosen yet (CONTRIBUTING.md), so the description cannot name one',
}
const SPECTRAL: ExpectedFailures = {
  'info-contact at info': 'whom to ask is the choice of the operator, and no setting names it yet',
}

let description: ServedDescription
beforeAll(async () => {
  const h = await shareHarness('usual')
  description = await saveDescription(h.place)
  return async () => {
    description[Symbol.dispose]()
    await h[Symbol.asyncDispose]()
  }
})

interface RedoclyReport {
  problems: { ruleId: string; location: { pointer: string }[] }[]
}

test('spec 1.4: redocly lint finds only what is known', async () => {
  const args = ['lint', description.path, '--extends=recommended', '--format=json']
  const { stdout, stderr } = await runJudge('@redocly/cli', args, { program: 'redocly', env: QUIET })
  expect(stdout, stderr).toContain('"totals"')
  const { problems } = JSON.parse(stdout) as RedoclyReport
  expectOnly(
    problems.map(({ ruleId, location }) => `${ruleId} at ${location[0]?.pointer}`),
    REDOCLY,
  )
})

/** Neither asks its makers for a newer version nor tells them of this run. */
const QUIET = { REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', REDOCLY_TELEMETRY: 'off' }

interface SpectralFinding {
  code: string
  path: (string | number)[]
}

test('spec 1.4: spectral lint finds only what is known', async () => {
  const args = ['lint', description.path, '--ruleset', RULESET, '--format', 'json', '--quiet']
  const { stdout, stderr } = await runJudge('@stoplight/spectral-cli', args, { program: 'spectral' })
  expect(stdout, stderr).toMatch(/^\[/)
  const findings = JSON.parse(stdout) as SpectralFinding[]
  expectOnly(
    findings.map(({ code, path }) => `${code} at ${path.join('/')}`),
    SPECTRAL,
  )
})
