/** Network faults for the nemesis. */
import type { Fault } from '../nemesis/fault.ts'
import type { FaultSystem } from '../nemesis/fault-system.ts'
import type { Random } from '../workload/random.ts'
import type { Direction } from './joined.ts'
import type { Link } from './link.ts'
import type { Where } from './network.ts'

interface NetworkFault {
  readonly name: string
  readonly holdMs: Fault['holdMs']
  readonly weight?: number
  readonly act: (links: readonly Link[], random: Random) => unknown
}

const DIRECTIONS: readonly Direction[] = ['to-server', 'to-client', 'both']

/** Resets every connection, but accepts new ones, like a firewall after a restart. */
const resetConnections: Fault = networkFault({
  name: 'reset-connections',
  holdMs: [0, 0],
  weight: 2,
  act: (links) => links.forEach((link) => void link.reset()),
})

/** Closes connections and refuses new ones for a while. */
const cutConnections: Fault = networkFault({
  name: 'cut-connections',
  holdMs: [200, 6_000],
  act: (links) => Promise.all(links.map((link) => link.cut())),
})

/** Holds all bytes in one direction or both, and closes nothing. Afterwards all bytes arrive. */
const partition: Fault = networkFault({
  name: 'partition',
  holdMs: [500, 12_000],
  weight: 2,
  act(links, random) {
    const direction = random.pick(DIRECTIONS)
    for (const link of links) link.hold(direction)
  },
})

/** Like `partition`, but only for existing connections. New connections work. */
const halfOpen: Fault = networkFault({
  name: 'half-open',
  holdMs: [5_000, 15_000],
  weight: 2,
  act(links, random) {
    const direction = random.pick(DIRECTIONS)
    for (const link of links) for (const connection of link.connections) connection.hold(direction)
  },
})

const slowNetwork: Fault = networkFault({
  name: 'slow-network',
  holdMs: [1_000, 8_000],
  act(links, random) {
    const ms = random.int(10, 400)
    for (const link of links) link.delay(ms)
  },
})

export const NETWORK_FAULTS: readonly Fault[] = [resetConnections, cutConnections, partition, halfOpen, slowNetwork]

function networkFault({ name, holdMs, weight = 1, act }: NetworkFault): Fault {
  return {
    name,
    target: 'network',
    holdMs,
    weight,
    async inject({ names, network }, random) {
      const where = placeOf({ names }, random)
      const links = network.links(where)
      await act(links, random)
      return {
        detail: [where.of ?? 'all', where.to ?? 'everything'].join(' to '),
        heal: async () => void (await Promise.all(links.map((link) => link.heal()))),
      }
    },
  }
}

/** Affects one process or one service, towards one server or all. */
function placeOf({ names }: Pick<FaultSystem, 'names'>, random: Random): Where {
  const name = random.pick(names)
  const service = name.replace(/-\d+$/, '')
  const of = random.weighted([
    [3, name],
    [2, service],
  ])
  const servers: NonNullable<Where['to']>[] = ['nats']
  if (service !== 'gateway') servers.push('postgres')
  if (service === 'stream') servers.push('stream')
  return random.chance(0.25) ? { of } : { of, to: random.pick(servers) }
}
