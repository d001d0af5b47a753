/**
 * Pages, event streams and large bodies cost up to fifty times as much as other requests: a page has up to 500 KiB, which
 * Postgres, a service, NATS and this process each copy. A hundred of them at once would delay every other request by seconds,
 * within the rate of a single client. So few run at once, and clients take turns: the wait of one client does not depend on how
 * much another one asks for.
 */
import { FairQueue } from './fair-queue.ts'
import { Overloaded } from './load.ts'

interface BulkTurns {
  /**
   * Runs a bulk read when it is its client's turn. Reads of different operations do not wait for each other, because the service
   * that one of them needs may hang.
   * @throws Overloaded if too many reads wait, and no client has more of them than this one.
   */
  run<T>(reader: Reader, read: () => Promise<T>): Promise<T>
}

interface Reader {
  readonly operation: string
  /** The agent that signed the request, or its address if the signature is missing or not verified yet. */
  readonly client: string
  readonly isUnsigned: boolean
}

interface Most {
  readonly signed: number
  readonly unsigned: number
}

interface Lane {
  running: number
  readonly max: number
  readonly waiting: FairQueue<Waiting>
}

interface Waiting {
  readonly begin: () => void
  readonly refuse: (reason: Overloaded) => void
}

/** Maximum number of signed reads of one operation at a time. At 10 ms each they delay another request by less than 0.1 s. */
export const MAX_SIGNED = 8
/** Maximum number of unsigned reads. They have a lane of their own, so that they cannot delay reads of registered agents. */
export const MAX_UNSIGNED = 3

/**
 * Maximum number of large bodies that are verified and parsed at once. A body of 96 KiB takes up to 6 ms, so without turns 300
 * of them would delay every other request by two seconds. Small bodies do not wait for large ones. body.ts defines "large".
 */
const MAX_LARGE_BODIES = 2
export const LARGE_BODIES: Most = { signed: MAX_LARGE_BODIES, unsigned: 1 }

/** Created once, for the reasons given in load.ts. */
const TOO_MANY = new Overloaded('too many pages, streams or large bodies wait for their turn')
/** Maximum number of waiting reads, over all clients and operations. Each holds a request slot, and other requests need slots too. */
export const MAX_WAITING = 192

/** @param most how many reads of one operation run at a time: those of registered agents, and all others. */
export function createBulkTurns(
  most: Most = { signed: MAX_SIGNED, unsigned: MAX_UNSIGNED },
  maxWaiting = MAX_WAITING,
): BulkTurns {
  const lanes = new Map<string, Lane>()
  let waiting = 0

  return {
    async run({ operation, client, isUnsigned }, read) {
      const lane = laneOf(operation, isUnsigned)
      if (lane.running < lane.max) lane.running += 1
      else await turnOf(lane, client)
      try {
        return await read()
      } finally {
        passOn(lane)
      }
    },
  }

  function laneOf(operation: string, isUnsigned: boolean): Lane {
    const name = isUnsigned ? `${operation}, unsigned` : operation
    let lane = lanes.get(name)
    if (lane === undefined) {
      lane = { running: 0, max: isUnsigned ? most.unsigned : most.signed, waiting: new FairQueue() }
      lanes.set(name, lane)
    }
    return lane
  }

  function turnOf(lane: Lane, client: string): Promise<void> {
    if (waiting >= maxWaiting) makeRoom(lane.waiting.countOf(client))
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    lane.waiting.push(client, { begin: resolve, refuse: reject })
    waiting += 1
    return promise
  }

  /** Refuses the newest read of the client with most waiting reads. @throws Overloaded if no client has more than the newcomer. */
  function makeRoom(ofNewcomer: number): void {
    const all = [...lanes.values()].map(({ waiting: queue }) => ({ queue, ...queue.longest() }))
    const longest = all.reduce((most, each) => (each.count > most.count ? each : most))
    if (longest.count <= ofNewcomer) throw TOO_MANY
    longest.queue.pop(longest.client)?.refuse(TOO_MANY)
    waiting -= 1
  }

  /** After a read has ended, starts the next client's read in its place. */
  function passOn(lane: Lane): void {
    const next = lane.waiting.shift()
    if (next === undefined) {
      lane.running -= 1
      return
    }
    waiting -= 1
    next.begin()
  }
}
