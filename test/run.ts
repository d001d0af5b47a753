/**
 * `npx pnpm test`: the checks, then every test, also where a check has failed. Arguments go to vitest, so
 * `npx pnpm test libs/svc1` runs some. The last line is `<n> passed, <n> failed`, a check counting as a test.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runChecks } from './check.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

interface Counts {
  readonly passed: number
  readonly failed: number
}

/** The parts of vitest's JSON report that are read here. */
interface Report {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly testResults: readonly { status: string; assertionResults: readonly unknown[] }[]
}

const checks = await runChecks()
const tests = await runTests(process.argv.slice(2))
const failed = checks.failed + tests.failed
console.log(`${checks.passed + tests.passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1

async function runTests(args: string[]): Promise<Counts> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-report-'))
  const report = join(folder, 'report.json')
  try {
    const vitest = join(ROOT, 'node_modules', '.bin', 'vitest')
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
    const child = spawn(vitest, ['run', ...reporters, ...args], { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] })
    // A Ctrl-C reaches vitest too, which ends what the tests have started; this waits for it.
    process.on('SIGINT', () => {})
    process.on('SIGTERM', () => child.kill('SIGTERM'))
    const [code] = await once(child, 'close')
    return countTests(JSON.parse(readFileSync(report, 'utf8')), code === 0)
  } catch (error) {
    console.error(`vitest made no report: ${error instanceof Error ? error.message : error}`)
    return { passed: 0, failed: 1 }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A file that could not be loaded has no tests to fail, and an error outside of every test fails none: each counts as one. */
function countTests({ numPassedTests, numFailedTests, testResults }: Report, ok: boolean): Counts {
  const unloaded = testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  )
  const failed = numFailedTests + unloaded.length
  return { passed: numPassedTests, failed: ok ? failed : Math.max(failed, 1) }
}
