/**
 * `npx pnpm test`: runs the checks and every test, side by side. Then it checks that every row of the
 * specification has a test (docs/conformance.md). Arguments go to vitest, so `npx pnpm test libs/svc1` runs some tests,
 * without the last step. The end of the output lists each failure again, one per line. The last line is `<n> passed, <n>
 * failed`; a check counts as a test.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { watchStarter } from '@svc/processes/starter.ts'
import { conformanceOf, PAGE_PATH } from './conformance/page.ts'
import type { TestRunReport } from './support/run/count-reporter.ts'
import { runChecks } from './tools/check.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const VITEST = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url))
const REPORTERS = ['--reporter=default', '--reporter=./test/support/run/count-reporter.ts']

const args = process.argv.slice(2)
if (args.includes('--help') || args.includes('-h')) {
  console.log(
    'usage: npx pnpm test [<path> ...]\nRuns the checks and every test, or those below these paths. Further options go to vitest.',
  )
  process.exit(0)
}
const found: string[] = []
const [checks, tests] = await Promise.all([runChecks((line) => found.push(line)), runTests()])
console.log(found.join('\n'))
for (const failure of tests.failures) console.log(`FAILED  ${failure}`)
// If something failed, the list of tests is incomplete.
const isWhole = args.length === 0 && tests.failed === 0
const conformance = isWhole ? checkConformance(tests) : []
for (const problem of conformance) console.log(`FAILED  conformance: ${problem}`)
const failed = checks.failed + tests.failed + Math.min(conformance.length, 1)
const passed = checks.passed + tests.passed + (isWhole && conformance.length === 0 ? 1 : 0)
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1

async function runTests(): Promise<TestRunReport> {
  const child = fork(VITEST, ['run', ...REPORTERS, ...args], { cwd: ROOT })
  let report: TestRunReport = { passed: 0, failed: 0, tests: [], failures: [] }
  child.on('message', (message) => {
    report = message as TestRunReport
  })
  // vitest gets the Ctrl-C too, and stops everything that the tests started. This process waits for it.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  using _ = watchStarter(() => child.kill('SIGTERM'))
  const [code] = await once(child, 'close')
  // vitest also fails without a failed test: if it found no tests, or if it was killed.
  return code === 0 ? report : { ...report, failed: Math.max(report.failed, 1) }
}

/** @returns one sentence for each row without a test, and for a stale page. */
function checkConformance({ tests }: TestRunReport): string[] {
  const { page, problems } = conformanceOf(tests)
  const committed = readFileSync(join(ROOT, PAGE_PATH), 'utf8')
  return [...problems, ...(page === committed ? [] : [`${PAGE_PATH} is out of date: run npx pnpm conformance`])]
}
