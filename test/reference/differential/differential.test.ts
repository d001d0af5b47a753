/** `npx pnpm conformance differential` runs longer. */
import { randomInt } from 'node:crypto'
import { test } from 'vitest'
import { startDifferential } from './systems.ts'

test('the service and the reference server agree on random operations of six agents', async () => {
  const seed = Number(process.env.SVC_FUZZ_SEED ?? randomInt(2 ** 31))
  console.log(`differential operations with SVC_FUZZ_SEED=${seed}`)
  await using differential = await startDifferential()
  await differential.run({ operations: 2_000, seed, atOnce: 4, onDifference: console.error })
})
