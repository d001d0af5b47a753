import type { ServiceName } from '@svc/local/topology.ts'
import type { Random } from '../../workload/random.ts'
import { FAILPOINTS } from '../failpoints.ts'
import { type Fault, HEALED, type Injected } from '../fault.ts'
import type { FaultSystem } from '../fault-system.ts'

const POINTS = Object.entries(FAILPOINTS) as [ServiceName, readonly string[]][]
/** A process that reaches the failpoint less often stays armed. It dies there later, or another fault kills it first. */
const LATEST_PASSAGE = 40

/** Restarts a process and arms it. The process then dies between two durable steps, when it reaches the failpoint for the n-th time. */
export const failpoint: Fault = failpointAmong(POINTS.flatMap(([, points]) => points))

/**
 * Uses only these failpoints.
 * @throws Error for an unknown failpoint.
 */
export function failpointAmong(chosen: readonly string[]): Fault {
  for (const one of chosen) serviceOf(one)
  return { name: 'failpoint', target: 'processes', holdMs: [0, 0], weight: 6, inject: arm }

  async function arm(system: FaultSystem, random: Random): Promise<Injected> {
    const point = random.pick(chosen)
    const service = serviceOf(point)
    const passage = random.weighted([
      [2, 1],
      [3, random.int(2, LATEST_PASSAGE)],
    ])
    const name = random.pick(system.names.filter((one) => one.startsWith(`${service}-`)))
    await system.end(name, 'SIGKILL', { SVC_FAILPOINTS: `${point}=kill@${passage}` })
    return { detail: `${name} ${point}@${passage}`, heal: HEALED }
  }
}

function serviceOf(point: string): ServiceName {
  const service = POINTS.find(([, points]) => points.includes(point))?.[0]
  if (service === undefined) throw new Error(`no failpoint is called ${point}`)
  return service
}
