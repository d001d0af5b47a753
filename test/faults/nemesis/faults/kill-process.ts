import { type Fault, HEALED } from '../fault.ts'

/** Sends SIGKILL to one process, to both processes of a service, or to any three processes. The supervisor restarts them. */
export const killProcess: Fault = {
  name: 'kill-process',
  target: 'processes',
  holdMs: [0, 0],
  weight: 4,
  async inject(system, random) {
    const first = random.pick(system.names)
    const service = first.replace(/-\d+$/, '')
    const names = random.weighted([
      [6, [first]],
      [2, system.names.filter((name) => name.startsWith(`${service}-`))],
      [1, random.sample(system.names, 3)],
    ])
    await Promise.all(names.map((name) => system.end(name, 'SIGKILL')))
    return { detail: names.join(' '), heal: HEALED }
  },
}
