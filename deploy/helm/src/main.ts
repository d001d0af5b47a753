/**
 * `npx pnpm chart <folder>` writes the Helm chart into the folder, which must not exist. The chart is made from
 * deploy/kubernetes, so both deploy the same objects.
 */
import { writeChart } from './chart.ts'

const [folder, ...others] = process.argv.slice(2)
try {
  if (folder === undefined || others.length > 0) throw new Error('usage: npx pnpm chart <folder>')
  writeChart(folder)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
