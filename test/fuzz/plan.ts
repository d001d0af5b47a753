/**
 * The amount of fuzzing, and its seed. The seed is printed. `SVC_FUZZ_SEED` repeats a run, and `SVC_FUZZ_TIMES` makes it
 * longer. Each finding of a run becomes a test, beside the property that found it or beside the faulty code.
 */
import { randomInt } from 'node:crypto'
import type { Parameters } from 'fast-check'

/** Cases of each part; at least 20,000 in all (parsers.test.ts). */
export const CASES = {
  iJson: 5_000,
  jsonValues: 2_000,
  headers: 3_000,
  addresses: 1_000,
  dateTimes: 1_000,
  base64: 1_000,
  keys: 500,
  envelopes: 4_000,
  wrongRequests: 1_000,
  anyRequests: 1_000,
  singleRequests: 400,
  cursors: 600,
  bytesOnTheWire: 480,
} as const

const { SVC_FUZZ_SEED, SVC_FUZZ_TIMES = '1' } = process.env
const SEED = SVC_FUZZ_SEED === undefined ? randomInt(2 ** 31) : Number(SVC_FUZZ_SEED)
console.log(`fuzzed with SVC_FUZZ_SEED=${SEED}`)

/** Timeout of a property over HTTP. A long run may take its time. */
export const TIMEOUT_MS = 120_000 * Number(SVC_FUZZ_TIMES)

/** @param perRun the cases in one run of a property. */
export function runsOf<T>(part: keyof typeof CASES, perRun = 1): Parameters<T> {
  return { seed: SEED, numRuns: Math.ceil((CASES[part] * Number(SVC_FUZZ_TIMES)) / perRun) }
}
