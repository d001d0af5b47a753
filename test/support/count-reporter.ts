import type { Reporter, SerializedError, TestModule } from 'vitest/node'

export interface Counts {
  readonly passed: number
  readonly failed: number
}

/** What the process that started vitest is told. */
export interface TestRunReport extends Counts {
  /** All that ran, with the values of tables in their names; files from the root of the repository. */
  readonly tests: readonly { readonly file: string; readonly name: string }[]
}

/** Tells the process that started vitest (test/run.ts) which tests ran, and how many passed and failed. */
export default class CountReporter implements Reporter {
  async onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): Promise<void> {
    const counts = modules.map(countModule)
    const sum = (pick: (count: Counts) => number): number => counts.reduce((total, count) => total + pick(count), 0)
    const message: TestRunReport = {
      passed: sum(({ passed }) => passed),
      failed: sum(({ failed }) => failed) + errors.length,
      tests: modules.flatMap(namesIn),
    }
    await new Promise((resolve) => (process.send === undefined ? resolve(null) : process.send(message, resolve)))
  }
}

/** A module that failed without a failed test could not be loaded, or failed in a hook: that counts as one. */
function countModule(module: TestModule): Counts {
  const states = [...module.children.allTests()].map((test) => test.result().state)
  const failed = states.filter((state) => state === 'failed').length
  return {
    passed: states.filter((state) => state === 'passed').length,
    failed: module.ok() ? failed : Math.max(failed, 1),
  }
}

/** One that was left out has not shown anything. */
function namesIn(module: TestModule): TestRunReport['tests'] {
  const ran = [...module.children.allTests()].filter((test) => test.result().state !== 'skipped')
  return ran.map(({ fullName }) => ({ file: module.relativeModuleId, name: fullName }))
}
