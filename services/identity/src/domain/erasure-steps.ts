import { ERASING, type Erasing } from '@svc/contracts/erasure.ts'

/**
 * The steps of an erasure, in order. `close`: the erasure waits, and an operator can cancel it. `closing`: the agent's requests are refused. Then each service erases its own data. `orphans`:
 * webhook removes texts whose messages are gone. `finish`: identity deletes the agent.
 */
const STEPS = ['close', 'closing', ...ERASING, 'orphans', 'finish', 'done'] as const
export type ErasureStep = (typeof STEPS)[number]

/**
 * The erasure waits after two steps. After `closing`: until requests that were already admitted have ended. After `messaging`: until
 * webhook has made jobs from the events that it had already received.
 */
const WAITS_AFTER: readonly ErasureStep[] = ['closing', 'messaging']
/** Longer than the deadline of any request, and than the work on an event. */
const SETTLING_SECONDS = 10

/** @returns the step after this one, and how long to wait before it. */
export function stepAfter(step: ErasureStep): { step: ErasureStep; waitSeconds: number } {
  const next = STEPS[STEPS.indexOf(step) + 1] ?? 'done'
  return { step: next, waitSeconds: WAITS_AFTER.includes(step) ? SETTLING_SECONDS : 0 }
}

export function isErasing(step: ErasureStep): step is Erasing {
  return ERASING.some((service) => service === step)
}

type Report = Readonly<Record<string, Readonly<Record<string, number>>>>

/** Adds the counts of a call to the report. */
export function addCounts(report: Report, part: string, counts: Readonly<Record<string, number>>): Report {
  const before = report[part] ?? {}
  const sums = Object.entries(counts).map(([kind, count]) => [kind, (before[kind] ?? 0) + count])
  return sums.length === 0 ? report : { ...report, [part]: { ...before, ...Object.fromEntries(sums) } }
}
