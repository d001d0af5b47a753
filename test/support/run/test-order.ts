import { readFileSync } from 'node:fs'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take longest, because their tests wait for leases, deadlines and other programs. They begin early. */
const WAITING =
  /\/faults?[./-]|\/faults\/|(?:stack|health|stream-limits|deliveries|repeats|pages|packages|exec|listen-killed|answering|console|python)\.test/

/**
 * Files that use a shared system (system/shared-system.ts). They start close together: even an idle system takes CPU, so it should
 * soon have no users left, and stop.
 */
const SHARING = /share(?:Harness|System)\('(\w+)'\)/
/** The tests that use a system through clients/sdk/test/agents.ts. */
const STAGED = /clients\/(?:sdk|cli|mcp)\/test\//

/** While a file waits, others need time to use the processors. A run has about twelve times as many other files. */
const OTHERS_BETWEEN = 5

/**
 * The order of a run: the files of each shared system, then the other files, each group in vitest's own order. Before every five of
 * them comes one file that waits, so these are spread over about the first half.
 */
export class TestOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification): string => {
      if (WAITING.test(moduleId)) return '1'
      const own = SHARING.exec(readFileSync(moduleId, 'utf8'))?.[1]
      const system = own ?? (STAGED.test(moduleId) ? 'roomy' : undefined)
      return system === undefined ? '3' : `2 ${system}`
    }
    const ranks = new Map(files.map((file) => [file, rankOf(file)]))
    const sorted = await super.sort(files)
    const ranked = sorted.toSorted((one, other) => (ranks.get(one) ?? '').localeCompare(ranks.get(other) ?? ''))
    const waiting = ranked.filter((file) => ranks.get(file) === '1')
    const others = ranked.slice(waiting.length)
    return waiting
      .flatMap((file, at) => [file, ...others.slice(at * OTHERS_BETWEEN, (at + 1) * OTHERS_BETWEEN)])
      .concat(others.slice(waiting.length * OTHERS_BETWEEN))
  }
}
