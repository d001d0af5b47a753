import type { SolveProgress } from '@svc/svc1/pow.ts'
import type { Io } from '../io.ts'

const WIDTH = 24
const REDRAW_MS = 100

/**
 * Shows the proof of work on stderr if stderr is a terminal. The work is random, so its end cannot be predicted. The bar
 * shows the probability that the work would be done by now.
 */
export function createProgressBar(
  { stderr }: Pick<Io, 'stderr'>,
  nowMs: () => number = performance.now.bind(performance),
) {
  const startMs = nowMs()
  let drawnMs = Number.NEGATIVE_INFINITY
  return {
    update({ hashes, expectedHashes }: SolveProgress): void {
      const atMs = nowMs()
      if (stderr.isTTY !== true || atMs - drawnMs < REDRAW_MS) return
      drawnMs = atMs
      const likely = 1 - Math.exp(-hashes / expectedHashes)
      const bar = '#'.repeat(Math.round(likely * WIDTH)).padEnd(WIDTH, '.')
      const seconds = ((atMs - startMs) / 1000).toFixed(1)
      stderr.write(`\rproof of work [${bar}] ${Math.floor(likely * 100)} % likely done, ${hashes} hashes, ${seconds} s`)
    },
    /** Removes the bar. */
    clear(): void {
      if (drawnMs !== Number.NEGATIVE_INFINITY) stderr.write('\r\u001b[K')
    },
  }
}
