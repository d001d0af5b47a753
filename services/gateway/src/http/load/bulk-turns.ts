/**
 * Pages, event streams and large bodies cost up to fifty times as much as other requests: a page has up to 500 KiB, which
 * Postgres, a service, NATS and this process each copy. A hundred of them at once would delay every other request by seconds,
 * within the rate of a single client. So few run at once, and clients take turns: the wait of one client does not depend on how
 * much another one asks for.
 */
import { FairQueue } from '@svc/batching/fair-queue.ts'
import { Overloaded } from './load.ts'

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

/** Maximum number of signed reads of one operation at a time. At 10 ms each they delay another request by less than 0.1 s. */
export const MAX_SIGNED = 8
/** Maximum number of unsigned reads. They have places of their own, so that they cannot delay reads of registered agents. */
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
const MAX_WAITING = 192

/**
 * Reads of different operations do not wait for each other, because the service that one of them needs may hang.
 * @param most how many reads of one operation run at a time: those of registered agents, and all others.
 */
export class BulkTurns {
  readonly #most: Most
  readonly #queue: FairQueue

  constructor(most: Most = { signed: MAX_SIGNED, unsigned: MAX_UNSIGNED }, maxWaiting = MAX_WAITING) {
    this.#most = most
    this.#queue = new FairQueue({ atOnce: most.signed, maxWaiting, overloaded: () => TOO_MANY })
  }

  /**
   * Runs a bulk read when it is its client's turn.
   * @throws Overloaded if too many reads wait, and no client has more of them than this one.
   */
  readInTurn<T>({ operation, client, isUnsigned }: Reader, read: () => Promise<T>): Promise<T> {
    // Unsigned reads of an operation form a group of their own.
    const turn = isUnsigned
      ? { key: client, group: `${operation}, unsigned`, atOnce: this.#most.unsigned }
      : { key: client, group: operation }
    return this.#queue.runInTurn(turn, read)
  }
}
