/** What our own clients do not pass, and why. A case that passes after all must leave this list. */
import type { CaseResult } from '../src/result.ts'

/** The ids of cases, or the beginnings of ids that end with `/`, with one reason. */
type Expected = Readonly<Record<string, readonly string[]>>

/** What does not fit the list: cases that failed or were skipped and are not in it, and entries that no such case has. */
export function unexpected(results: readonly CaseResult[], expected: Expected): string[] {
  const entries = Object.values(expected).flat()
  const fits = (id: string, entry: string): boolean => id === entry || (entry.endsWith('/') && id.startsWith(entry))
  const others = results.filter(({ status }) => status !== 'passed')
  return [
    ...others.filter(({ id }) => !entries.some((entry) => fits(id, entry))).map(({ id, reason }) => `${id}: ${reason}`),
    ...entries.filter((entry) => !others.some(({ id }) => fits(id, entry))).map((entry) => `${entry} is stale`),
    ...results
      .filter(({ id, status }) => status === 'passed' && entries.some((entry) => fits(id, entry)))
      .map(({ id }) => `${id} passes, and is in the list`),
  ]
}
