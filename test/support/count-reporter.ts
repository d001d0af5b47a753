import type { Reporter, SerializedError, TestModule } from 'vitest/node'

export interface Counts {
  readonly passed: number
  readonly failed: number
}

/** Tells the process that started vitest (test/run.ts) how many tests passed and failed. */
export default class CountReporter implements Reporter {
  async onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): Promise<void> {
    const counts = modules.map(countModule)
    const sum = (pick: (count: Counts) => number): number => counts.reduce((total, count) => total + pick(count), 0)
    const message: Counts = { passed: sum(({ passed }) => passed), failed: sum(({ failed }) => failed) + errors.length }
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
