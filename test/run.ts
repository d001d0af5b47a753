/**
 * `npx pnpm test`: runs the tests with containers, and then the checks and every other test, side by side. Then it checks
 * that every row of the specification has a test (docs/conformance.md). Arguments go to vitest, so `npx pnpm test libs/svc1` runs some tests,
 * without the last step. The end of the output lists each failure again, one per line. The last line is `<n> passed, <n>
 * failed`; a check counts as a test.
 */
import { type ChildProcess, fork } from 'node:child_process'
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
const CONTAINERS = 'test/containers'
const NOTHING: TestRunReport = { passed: 0, failed: 0, tests: [], failures: [] }

const args = process.argv.slice(2)
if (args.includes('--help') || args.includes('-h')) {
  console.log(
    'usage: npx pnpm test [<path> ...]\nRuns the checks and every test, or those below these paths. Further options go to vitest.',
  )
  process.exit(0)
}
let child: ChildProcess | undefined
let isStopped = false
const stop = (): void => {
  isStopped = true
  child?.kill('SIGTERM')
}
// vitest gets the Ctrl-C too, and stops everything that the tests started. This process waits for it.
process.on('SIGINT', () => {
  isStopped = true
})
process.on('SIGTERM', stop)
using _ = watchStarter(stop)
const found: string[] = []
// Containers come first and alone: many processes start at once, and some of the tests need answers in time.
const first = args.length === 0 ? await runTests([CONTAINERS]) : NOTHING
const rest = args.length === 0 ? ['--exclude', `${CONTAINERS}/**`] : args
const [checks, others] = await Promise.all([runChecks((line) => found.push(line)), runTests(rest)])
const tests: TestRunReport = {
  passed: first.passed + others.passed,
  failed: first.failed + others.failed,
  tests: [...first.tests, ...others.tests],
  failures: [...first.failures, ...others.failures],
}
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

async function runTests(chosen: readonly string[]): Promise<TestRunReport> {
  if (isStopped) return { ...NOTHING, failed: 1 }
  child = fork(VITEST, ['run', ...REPORTERS, ...chosen], { cwd: ROOT })
  let report = NOTHING
  child.on('message', (message) => {
    report = message as TestRunReport
  })
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
