/** Runs the cases of `client-cases` against a client. */
import type { CaseResult } from '../result.ts'
import { type ClientCase, readCases } from './case.ts'
import { AdapterDriver } from './driver.ts'
import { runCase } from './run-case.ts'
import { readVectorCases } from './vectors.ts'

interface ClientSuiteOptions {
  /** The adapter's program and its arguments. */
  readonly command: readonly string[]
  /** Only cases whose id matches, or contains this text. */
  readonly only?: RegExp | string | undefined
  readonly onResult?: ((result: CaseResult) => void) | undefined
}

/** What a report or a test needs to know of a case. `should`: the specification only recommends it. */
type ClientCaseInfo = Pick<ClientCase, 'id' | 'title' | 'spec' | 'level'>

/** Adapters that run at once. A case mostly waits. */
const ADAPTERS = 6

export function listClientCases(): readonly ClientCaseInfo[] {
  return allCases().map(({ id, title, spec, level }) => ({ id, title, spec, level }))
}

/**
 * @returns the results in the order of `listClientCases`.
 * @throws AdapterError if the adapter does not even answer its first request.
 */
export async function runClientSuite({ command, only, onResult }: ClientSuiteOptions): Promise<CaseResult[]> {
  const isChosen = (id: string): boolean => (only instanceof RegExp ? only.test(id) : id.includes(only ?? ''))
  const cases = allCases().filter(({ id }) => isChosen(id))
  const results = new Map<string, CaseResult>()
  // The slowest cases start first, so that none runs alone at the end.
  const queue = cases.toSorted((a, b) => weightOf(b) - weightOf(a))
  const workers = Array.from({ length: Math.min(ADAPTERS, queue.length) }, async () => {
    await using driver = new AdapterDriver(command)
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
      const result = await runCase(one, driver).catch((error: unknown) => {
        queue.length = 0
        throw error
      })
      results.set(one.id, result)
      onResult?.(result)
    }
  })
  await Promise.all(workers)
  return cases.flatMap(({ id }) => results.get(id) ?? [])
}

/** Tests run these cases with a driver of their own. */
export function allCases(): ClientCase[] {
  return [...readCases(), ...readVectorCases()]
}

function weightOf({ steps, expect }: ClientCase): number {
  return Math.max(0, ...steps.map(({ within = 0 }) => within), ...expect.flatMap(({ waits = [] }) => waits))
}
