/**
 * Tracks which hosts occupy a process's requests, and limits the next claim accordingly. No endpoint can starve the
 * others of its host, and no host can starve the other hosts.
 */

/** `new` has delivered nothing yet. `struggling` has failed or been slow, and has not proved itself since. */
export type Standing = 'new' | 'proven' | 'struggling'

/** The part of a job that decides which limits its request counts towards. */
export interface Occupant {
  readonly host: string
  readonly standing: Standing
}

/** The number of requests under way to endpoints of one host with one standing. */
interface Busy extends Occupant {
  readonly jobs: number
}

/** Limits of what a worker may claim now. */
export interface Claim {
  /** Maximum number of jobs of endpoints that are not struggling. */
  readonly steadyJobs: number
  readonly strugglingJobs: number
  /** Maximum number of jobs per host and standing, including those under way. */
  readonly hostJobs: number
  readonly busy: readonly Busy[]
}

/** Maximum number of jobs in one claim. */
const MAX_JOBS = 128
/** Maximum number of concurrent requests to one endpoint, over all processes. The specification leaves the number open. */
export const SLOTS_PER_ENDPOINT = 2
/**
 * The share of a process's requests for struggling endpoints. Their requests take long, so the rest stays free for the
 * others.
 */
const STRUGGLING_SHARE = 1 / 2
/** The share of a process's requests for the endpoints of one host and standing. */
const HOST_SHARE = 1 / 8

export class Occupancy {
  readonly #concurrency: number
  /** Keyed by standing and host. */
  readonly #busy = new Map<string, Busy>()

  /** @param concurrency Maximum number of concurrent requests. */
  constructor(concurrency: number) {
    this.#concurrency = concurrency
  }

  /** Counts a request until the result is disposed. */
  occupy({ host, standing }: Occupant): Disposable {
    const key = `${standing} ${host}`
    const add = (jobs: number): void => {
      const sum = (this.#busy.get(key)?.jobs ?? 0) + jobs
      if (sum > 0) this.#busy.set(key, { host, standing, jobs: sum })
      else this.#busy.delete(key)
    }
    add(1)
    return { [Symbol.dispose]: () => add(-1) }
  }

  /** The limits of the next claim. */
  claimLimits(): Claim {
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
