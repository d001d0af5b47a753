import { type Fault, HEALED } from '../fault.ts'

/** Sends SIGTERM to every process, one after another, and waits for each, as an upgrade does. */
export const rollingRestart: Fault = {
  name: 'rolling-restart',
  target: 'processes',
  holdMs: [0, 0],
  weight: 0.3,
  async inject(system, random) {
    const names = random.sample(system.names, system.names.length)
    for (const name of names) {
      await system.end(name, 'SIGTERM')
      await system.untilReady(name)
    }
    return { detail: `${names.length} processes`, heal: HEALED }
  },
}
