/**
 * `npx pnpm test`: the checks, then every test, also where a check has failed. Arguments go to vitest, so
 * `npx pnpm test libs/svc1` runs some. The last line is `<n> passed, <n> failed`, a check counting as a test.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { watchStarter } from '@svc/local/starter.ts'
import { runChecks } from './check.ts'
import type { Counts } from './support/count-reporter.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const VITEST = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url))
const REPORTERS = ['--reporter=default', '--reporter=./test/support/count-reporter.ts']

const checks = await runChecks()
const tests = await runTests(process.argv.slice(2))
const failed = checks.failed + tests.failed
console.log(`${checks.passed + tests.passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1

async function runTests(args: string[]): Promise<Counts> {
  const child = fork(VITEST, ['run', ...REPORTERS, ...args], { cwd: ROOT })
  let counts: Counts = { passed: 0, failed: 0 }
  child.on('message', (message) => {
    counts = message as Counts
  })
  // A Ctrl-C reaches vitest too, which ends what the tests have started; this waits for it.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  using _ = watchStarter(() => child.kill('SIGTERM'))
  const [code] = await once(child, 'close')
  // It also fails where no test did: without tests, or killed.
  return code === 0 ? counts : { ...counts, failed: Math.max(counts.failed, 1) }
}
