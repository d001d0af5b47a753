/**
 * The short form of `npx pnpm faults`: two rounds with fixed seeds and with every kind of fault. The whole history must
 * follow the specification (docs/faults.md).
 */
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { runCampaign } from './campaign.ts'
import { FAULTS } from './nemesis/kinds.ts'

const SEED = 20_261_120
const ROUNDS = 2
const ROUND_SECONDS = 10
/** A round ends when the system is idle, which takes longer on a loaded machine. */
const LIMIT_MS = 400_000

test('no process kill, pause, full disk or data loss of NATS makes a message lost, duplicated, misplaced or wrongly charged', {
  timeout: LIMIT_MS,
}, async () => {
  const reports = await runCampaign({
    seed: SEED,
    rounds: ROUNDS,
    roundSeconds: ROUND_SECONDS,
    actors: 8,
    faults: FAULTS,
  })
  expect(
    reports.flatMap(({ violations, history }) => violations.map((violation) => ({ ...violation, history }))),
  ).toEqual([])
  for (const { outcomes, faults } of reports) {
    expect(outcomes['202']).toBeGreaterThan(0)
    expect(Object.keys(faults).length).toBeGreaterThan(0)
  }
  // After a violation the files are kept as evidence.
  for (const { history } of reports) rmSync(dirname(history), { recursive: true, force: true })
})
