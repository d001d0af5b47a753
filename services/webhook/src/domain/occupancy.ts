/**
 * Who takes up a process's requests, and what may be claimed beside them. No endpoint leaves the others of its host without, and
 * no host the other hosts.
 */

/** `new` has not delivered yet; `struggling` has failed, or been slow, and not proved itself since. */
export type Standing = 'new' | 'proven' | 'struggling'

/** What of a job says whom its request belongs to. */
export interface Occupant {
  readonly host: string
  readonly standing: Standing
}

/** Requests under way to the endpoints of one host that have one standing. */
export interface Busy extends Occupant {
  readonly jobs: number
}

/** What a worker may claim. */
export interface Claim {
  /** Jobs at most of endpoints that are not struggling. */
  readonly steadyJobs: number
  readonly strugglingJobs: number
  /** Jobs at most of one host and standing, with those under way. */
  readonly hostJobs: number
  readonly busy: readonly Busy[]
}

/** Jobs at most in one claim. */
const MAX_JOBS = 128
/** Requests to one endpoint at once, over all processes. The specification leaves the number open. */
export const SLOTS_PER_ENDPOINT = 2
/** Of a process's requests, for endpoints that struggle: they take long, and however many there are the others have the rest. */
const STRUGGLING_SHARE = 1 / 2
/** Of a process's requests, for the endpoints of one host and standing. */
const HOST_SHARE = 1 / 8

export class Occupancy {
  readonly #concurrency: number
  /** By standing and host. */
  readonly #busy = new Map<string, Busy>()

  /** @param concurrency requests under way at most. */
  constructor(concurrency: number) {
    this.#concurrency = concurrency
  }

  /** Counts a request until it is disposed of. */
  take({ host, standing }: Occupant): Disposable {
    const key = `${standing} ${host}`
    const add = (jobs: number): void => {
      const sum = (this.#busy.get(key)?.jobs ?? 0) + jobs
      if (sum > 0) this.#busy.set(key, { host, standing, jobs: sum })
      else this.#busy.delete(key)
    }
    add(1)
    return { [Symbol.dispose]: () => add(-1) }
  }

  room(): Claim {
    const busy = [...this.#busy.values()]
    const struggling = busy.reduce((sum, one) => sum + (one.standing === 'struggling' ? one.jobs : 0), 0)
    const all = busy.reduce((sum, { jobs }) => sum + jobs, 0)
    const free = bounded(this.#concurrency - all)
    return {
      steadyJobs: free,
      strugglingJobs: Math.min(free, bounded(this.#concurrency * STRUGGLING_SHARE - struggling)),
      hostJobs: Math.max(SLOTS_PER_ENDPOINT, Math.floor(this.#concurrency * HOST_SHARE)),
      busy,
    }
  }
}

function bounded(jobs: number): number {
  return Math.max(0, Math.min(MAX_JOBS, Math.floor(jobs)))
}
