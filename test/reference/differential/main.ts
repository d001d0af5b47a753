/** `npx pnpm conformance differential`: random operations on the service and on the reference server, whose answers must agree. */
import { randomInt } from 'node:crypto'
import { readCommandLine } from '../../support/run/command-line.ts'
import setupEngines from '../../support/run/global-setup.ts'
import { startDifferential } from './systems.ts'

const { values } = readCommandLine({
  command: 'npx pnpm conformance differential',
  does: 'Gives random operations of six agents to the service and to the reference server, and compares status, code, body and headers.',
  options: {
    operations: { kind: 'number', whole: true, min: 1, default: 100_000, what: 'operations in all' },
    seed: { kind: 'number', whole: true, what: 'repeats the operations of the run with this seed' },
    'at-once': { kind: 'number', whole: true, min: 1, default: 6, what: 'runs side by side' },
    first: { kind: 'flag', what: 'stops at the first difference, and looks for no shorter way to it' },
  },
})
const seed = values.seed ?? randomInt(2 ** 31)
console.log(`seed ${seed}`)
const closeEngines = await setupEngines()
let done = 0
const startMs = performance.now()
try {
  await using differential = await startDifferential()
  await differential.run({
    operations: values.operations,
    seed,
    atOnce: values['at-once'],
    shrink: !values.first,
    onRun(operations) {
      done += operations
      console.log(`${done} operations agree, ${Math.round((done * 1_000) / (performance.now() - startMs))} a second`)
    },
    onDifference: (text) => console.log(`\n${text}`),
  })
  console.log(`${done} operations agree`)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  await closeEngines()
}
