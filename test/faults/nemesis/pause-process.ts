import type { Fault } from './fault.ts'

/** SIGSTOP, and SIGCONT later: a process that is there and does not answer, and then goes on as if nothing had been. */
export const pauseProcess: Fault = {
  name: 'pause-process',
  target: 'processes',
  holdMs: [200, 7_000],
  weight: 3,
  async inject(system, random) {
    const names = random.sample(
      system.names,
      random.weighted([
        [4, 1],
        [1, 2],
      ]),
    )
    const pids = names.map((name) => system.pidOf(name))
    const signal = (which: NodeJS.Signals): void => {
      for (const pid of pids) if (pid !== undefined) system.signal(pid, which)
    }
    signal('SIGSTOP')
    return { detail: names.join(' '), heal: async () => signal('SIGCONT') }
  },
}
