/**
 * `npx pnpm test`: runs the tests with containers and those of rolling restarts, one file at a time, and then the checks and every
 * other test, side by side. If at most four files fail, and not those with containers, they run once more, alone. Then it checks that
 * every row of the specification has a test (docs/conformance.md). Arguments go to vitest, so `npx pnpm test libs/svc1` runs some
 * tests, without these last two steps. The end of the output lists each failure again, one per line. The last line is
 * `<n> passed, <n> failed`; a check counts as a test.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { watchStarter } from '@svc/processes/starter.ts'
import { conformanceOf, PAGE_PATH } from './conformance/page.ts'
import type { FileCounts, TestRunReport } from './support/run/count-reporter.ts'
import { runChecks } from './tools/check.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const VITEST = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url))
const REPORTERS = ['--reporter=default', '--reporter=./test/support/run/count-reporter.ts']

const NOTHING: TestRunReport = { files: [], errors: 0, tests: [], failures: [] }

const args = process.argv.slice(2)
if (args.includes('--help') || args.includes('-h')) {
  console.log(
    'usage: npx pnpm test [<path> ...]\nRuns the checks and every test, or those below these paths. Further options go to vitest.',
  )
  process.exit(0)
}
/** If more files than this failed, none is repeated: a slow machine does not explain so many. */
const MAX_REPEATED = 4
const CONTAINERS = 'test/containers/containers.test.ts'
const ROLLING = 'test/faults/rolling/rolling.test.ts'
const found: string[] = []
const isAll = args.length === 0
// These come first, one after the other: many processes start at once, and each request needs its answer in time.
const first = isAll ? await runTests([CONTAINERS, ROLLING, '--maxWorkers=1']) : NOTHING
const chosen = isAll ? ['test/containers/**', ROLLING].flatMap((one) => ['--exclude', one]) : args
const [checks, others] = await Promise.all([
  runChecks((line) => found.push(line)),
  first.errors > 0 ? NOTHING : runTests(chosen), // vitest was stopped
])
const tests = await repeatAlone({
  files: [...first.files, ...others.files],
  errors: first.errors + others.errors,
  tests: [...first.tests, ...others.tests],
  failures: [...first.failures, ...others.failures],
})
console.log(found.join('\n'))
for (const failure of tests.failures) console.log(`FAILED  ${failure}`)
// If something failed, the list of tests is incomplete.
const count = (pick: (counts: FileCounts) => number): number => tests.files.reduce((sum, one) => sum + pick(one), 0)
const failedTests = count(({ failed }) => failed) + tests.errors
const isWhole = isAll && failedTests === 0
const conformance = isWhole ? checkConformance(tests) : []
for (const problem of conformance) console.log(`FAILED  conformance: ${problem}`)
const failed = checks.failed + failedTests + Math.min(conformance.length, 1)
const passed = checks.passed + count(({ passed }) => passed) + (isWhole && conformance.length === 0 ? 1 : 0)
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1

async function runTests(options: readonly string[]): Promise<TestRunReport> {
  const child = fork(VITEST, ['run', ...REPORTERS, ...options], { cwd: ROOT })
  let report = NOTHING
  child.on('message', (message) => {
    report = message as TestRunReport
  })
  // vitest gets the Ctrl-C too, and stops everything that the tests started. This process waits for it.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  using _ = watchStarter(() => child.kill('SIGTERM'))
  const [code] = await once(child, 'close')
  // vitest also fails without a failed test: if it found no tests, or if it was killed.
  const isExplained = code === 0 || (code === 1 && report.failures.length > 0)
  return isExplained ? report : { ...report, errors: Math.max(report.errors, 1) }
}

/**
 * Tests of faults wait for real deadlines, which a busy machine can miss. So failed files run once more, alone. The first failures
 * are printed as lines `AGAIN`. Containers already ran alone, and a request that failed in their rollout is a fault.
 * @returns the report, with the second run of these files in place of the first.
 */
async function repeatAlone(report: TestRunReport): Promise<TestRunReport> {
  const failed = new Set(report.files.flatMap((one) => (one.failed > 0 ? [one.file] : [])))
  if (!isAll || report.errors > 0 || failed.size === 0 || failed.size > MAX_REPEATED || failed.has(CONTAINERS))
    return report
  const second = await runTests([...failed, '--maxWorkers=1'])
  for (const failure of report.failures) console.log(`AGAIN   ${failure}`)
  const isKept = ({ file }: { file: string }): boolean => !failed.has(file)
  return {
    files: [...report.files.filter(isKept), ...second.files],
    errors: second.errors,
    tests: [...report.tests.filter(isKept), ...second.tests],
    failures: second.failures,
  }
}

/** @returns one sentence for each row without a test, and for a stale page. */
function checkConformance({ tests }: TestRunReport): string[] {
  const { page, problems } = conformanceOf(tests)
  const committed = readFileSync(join(ROOT, PAGE_PATH), 'utf8')
  return [...problems, ...(page === committed ? [] : [`${PAGE_PATH} is out of date: run npx pnpm conformance`])]
}
