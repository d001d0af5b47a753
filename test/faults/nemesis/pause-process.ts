import type { Random } from '../workload/random.ts'
import type { Fault, Injected } from './fault.ts'
import type { FaultSystem } from './fault-system.ts'

/** SIGSTOP, and SIGCONT later: a process that is there and does not answer, and then goes on as if nothing had been. */
export const pauseProcess: Fault = {
  name: 'pause-process',
  target: 'processes',
  holdMs: [200, 7_000],
  weight: 3,
  inject: pause,
}

/** For longer than a charge is held (10 s): what it was about to commit has been given up when it goes on. */
export const freezeProcess: Fault = {
  name: 'freeze-process',
  target: 'processes',
  holdMs: [11_000, 16_000],
  weight: 0.7,
  inject: pause,
}

async function pause(system: FaultSystem, random: Random): Promise<Injected> {
  const count = random.weighted([
    [4, 1],
    [1, 2],
  ])
  const names = random.sample(system.names, count)
  const pids = names.map((name) => system.pidOf(name))
  const signal = (which: NodeJS.Signals): void => {
    for (const pid of pids) if (pid !== undefined) system.signal(pid, which)
  }
  signal('SIGSTOP')
  return { detail: names.join(' '), heal: async () => signal('SIGCONT') }
}
