/** Differential runs: random operations of six agents, on the service and on the reference server. */

import { findServer, type Server } from '@svc/conformance/http/server.ts'
import fc from 'fast-check'
import { type Operation, operation } from './operation.ts'
import { compare } from './run.ts'
import { SWEEP } from './sweep.ts'

export interface DifferentialOptions {
  /** In all, at least one of each entry of the tables. */
  readonly operations: number
  readonly seed: number
  /** Runs that go on side by side. Each has its own agents. */
  readonly atOnce: number
  readonly onRun?: (operations: number) => void
  /** Called with each difference, before it is shrunk. */
  readonly onDifference?: (text: string) => void
  /** Whether to look for a shorter list of operations. Default: true. */
  readonly shrink?: boolean
}

/** Operations of a run. Later ones find a richer world, and a difference is shrunk anyway. */
const PER_RUN = 100
const UNLIMITED = { perSecond: Number.POSITIVE_INFINITY }

/** @param urls of the service, and of the reference server with the same authority. @throws Error with the shortest list of operations that differ. */
export async function runDifferential(
  [service, reference]: readonly [string, string],
  { operations, seed, atOnce, onRun = () => {}, onDifference = () => {}, shrink = true }: DifferentialOptions,
): Promise<void> {
  const servers: [Server, Server] = [await findServer([service], UNLIMITED), await findServer([reference], UNLIMITED)]
  await sweep(servers, onDifference)
  onRun(SWEEP.length)
  const lists = fc.array(operation, { minLength: PER_RUN, maxLength: PER_RUN, size: 'max' })
  const property = fc.asyncProperty(lists, async (list: Operation[]) => {
    await compare(list, servers).catch((error: Error) => {
      onDifference(error.message)
      throw error
    })
    onRun(list.length)
  })
  const numRuns = Math.ceil(Math.max(operations - SWEEP.length, 0) / PER_RUN / atOnce)
  await Promise.all(
    Array.from({ length: atOnce }, (_, at) => fc.assert(property, { seed: seed + at, numRuns, endOnFailure: !shrink })),
  )
}

/** @throws Error with the number of differences, after `onDifference` got each. */
async function sweep(servers: [Server, Server], onDifference: (text: string) => void): Promise<void> {
  let differences = 0
  await compare(SWEEP, servers, ({ message }) => {
    differences += 1
    onDifference(message)
  })
  if (differences > 0)
    throw new Error(`the servers differ on ${differences} of ${SWEEP.length} operations of the tables`)
}
