import type { Reporter, SerializedError, TestModule, TestSuite } from 'vitest/node'

export interface FileCounts {
  /** Relative to the root of the repository. */
  readonly file: string
  readonly passed: number
  readonly failed: number
}

/** The report to the process that started vitest. */
export interface TestRunReport {
  readonly files: readonly FileCounts[]
  /** Number of errors outside of every file. */
  readonly errors: number
  /** All tests, skipped ones too. Names contain the values of tables; files are relative to the root of the repository. */
  readonly tests: readonly { readonly file: string; readonly name: string }[]
  /** One line for each failed test, hook and file: its name and the first line of each error. */
  readonly failures: readonly string[]
}

/** Tells the process that started vitest (test/run.ts) how many tests passed and failed, and which tests there are. */
export default class CountReporter implements Reporter {
  async onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): Promise<void> {
    const message: TestRunReport = {
      files: modules.map(countModule),
      errors: errors.length,
      tests: modules.flatMap(namesIn),
      failures: [
        ...modules.flatMap(failuresIn),
        ...errors.map((error) => `outside of the tests: ${firstLineOf(error)}`),
      ],
    }
    await new Promise((resolve) => (process.send === undefined ? resolve(null) : process.send(message, resolve)))
  }
}

/** A module without a failed test can still fail: it could not be loaded, or a hook failed. That counts as one failure. */
function countModule(module: TestModule): FileCounts {
  const states = [...module.children.allTests()].map((test) => test.result().state)
  const failed = states.filter((state) => state === 'failed').length
  return {
    file: module.relativeModuleId,
    passed: states.filter((state) => state === 'passed').length,
    failed: module.ok() ? failed : Math.max(failed, 1),
  }
}

function namesIn(module: TestModule): TestRunReport['tests'] {
  return [...module.children.allTests()].map(({ fullName }) => ({ file: module.relativeModuleId, name: fullName }))
}

/** A suite or a file has its own errors if a hook failed or the file could not be loaded. */
function failuresIn(module: TestModule): string[] {
  const file = module.relativeModuleId
  const nameOf = (suite: TestSuite): string => `${file} > ${suite.fullName}, a hook`
  // a test that passed after a retry has errors too
  const tests = [...module.children.allTests()].filter((test) => test.result().state === 'failed')
  return [
    ...describeErrors(`${file}, a hook or the file itself`, module.errors()),
    ...[...module.children.allSuites()].flatMap((suite) => describeErrors(nameOf(suite), suite.errors())),
    ...tests.flatMap((test) => describeErrors(`${file} > ${test.fullName}`, test.result().errors ?? [])),
  ]
}

function describeErrors(name: string, errors: readonly SerializedError[]): string[] {
  return errors.length === 0 ? [] : [`${name}: ${errors.map(firstLineOf).join('; ')}`]
}

function firstLineOf({ name, message }: SerializedError): string {
  const [line = ''] = message.split('\n')
  return line === '' ? (name ?? 'no message') : line
}
