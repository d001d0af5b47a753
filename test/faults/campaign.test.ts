/**
 * The short form of `npx pnpm faults`: two rounds of fixed seeds, with every kind of fault, in which everything that
 * the history shows must be as the specification has it. docs/faults.md.
 */
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { runCampaign } from './campaign.ts'
import { FAULTS } from './nemesis/kinds.ts'

const SEED = 20_261_120
const ROUNDS = 2
const ROUND_SECONDS = 15
/** Rounds end when all has come to rest, which a loaded machine takes its time for. */
const LIMIT_MS = 400_000

test('whatever is killed, paused, filled or forgotten, nothing is lost, doubled, misplaced or charged wrongly', {
  timeout: LIMIT_MS,
}, async () => {
  const reports = await runCampaign({
    seed: SEED,
    rounds: ROUNDS,
    roundSeconds: ROUND_SECONDS,
    actors: 12,
    faults: FAULTS,
  })
  expect(
    reports.flatMap(({ violations, history }) => violations.map((violation) => ({ ...violation, history }))),
  ).toEqual([])
  for (const { outcomes, faults } of reports) {
    expect(outcomes['202']).toBeGreaterThan(0)
    expect(Object.keys(faults).length).toBeGreaterThan(0)
  }
  // Where something was found, it stays for whoever looks into it.
  for (const { history } of reports) rmSync(dirname(history), { recursive: true, force: true })
})
