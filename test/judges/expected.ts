import { expect } from 'vitest'

/** What a judge says against us and we leave as it is: the judge's words, and the reason. */
export type ExpectedFailures = Readonly<Record<string, string>>

/** Fails for a finding that is not expected, for an expected failure that no longer happens, and for one without a reason. */
export function expectOnly(findings: Iterable<string>, expected: ExpectedFailures): void {
  expect([...new Set(findings)].toSorted()).toEqual(Object.keys(expected).toSorted())
  for (const [finding, reason] of Object.entries(expected)) expect(reason.length, finding).toBeGreaterThan(20)
}
