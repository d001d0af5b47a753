import { fileURLToPath } from 'node:url'
import type { Fault } from '../fault.ts'

const PRELOAD = fileURLToPath(new URL('./shifted-clock.ts', import.meta.url))
/** Less than the 60 s by which a signature's time may differ (spec 3.6). */
export const CLOCK_STEP_MS = 25_000

/** Shifts the clock of one process by up to 25 s. The shift begins with a restart and ends when the process is killed. */
export const clockStep: Fault = {
  name: 'clock-step',
  target: 'processes',
  holdMs: [1_000, 6_000],
  weight: 1,
  async inject(system, random) {
    const name = random.pick(system.names)
    const stepMs = random.int(-CLOCK_STEP_MS, CLOCK_STEP_MS)
    await system.end(name, 'SIGKILL', {
      NODE_OPTIONS: `--import ${PRELOAD}`,
      SVC_TEST_CLOCK_STEP_MS: String(stepMs),
    })
    return {
      detail: `${name} by ${stepMs} ms`,
      async heal() {
        await system.end(name, 'SIGKILL')
      },
    }
  },
}
