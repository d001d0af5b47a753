import type { ServiceName } from '@svc/local/topology.ts'
import { FAILPOINTS } from './failpoints.ts'
import { type Fault, HEALED } from './fault.ts'

const POINTS = Object.entries(FAILPOINTS) as [ServiceName, readonly string[]][]
/** One that is not passed by then is left armed: it dies there later, or with its process. */
const LATEST_PASSAGE = 40

/** A process starts again that will die between two durable steps, the n-th time that it comes there. */
export const failpoint: Fault = {
  name: 'failpoint',
  target: 'processes',
  holdMs: [0, 0],
  weight: 6,
  async inject(system, random) {
    const [service, points] = random.weighted(POINTS.map((entry) => [entry[1].length, entry] as const))
    const point = random.pick(points)
    const passage = random.weighted([
      [2, 1],
      [3, random.int(2, LATEST_PASSAGE)],
    ])
    const name = random.pick(system.names.filter((one) => one.startsWith(`${service}-`)))
    await system.end(name, 'SIGKILL', { SVC_FAILPOINTS: `${point}=kill@${passage}` })
    return { detail: `${name} ${point}@${passage}`, heal: HEALED }
  },
}
