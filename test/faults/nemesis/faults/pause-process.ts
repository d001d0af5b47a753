import type { Random } from '../../workload/random.ts'
import type { Fault, Injected } from '../fault.ts'
import type { FaultSystem } from '../fault-system.ts'

/** Sends SIGSTOP, and later SIGCONT. The process does not answer for a while, and then continues as if nothing had happened. */
export const pauseProcess: Fault = {
  name: 'pause-process',
  target: 'processes',
  holdMs: [200, 7_000],
  weight: 3,
  inject: pause,
}

/** Longer than a charge is held (10 s), so the process resumes after its pending commits were abandoned. */
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
