/** Who takes up a process's requests, and what may be claimed beside: no endpoint, and no host with many of them, leaves others without. */

/** What of a job says whom its request belongs to. */
export interface Occupant {
  readonly host: string
  /** The endpoint has failed, or been slow, and not proved itself since. */
  readonly struggling: boolean
}

/** What a worker may claim. */
export interface Claim {
  /** Endpoints at most that are not struggling. */
  readonly steadyEndpoints: number
  readonly strugglingEndpoints: number
  /** Endpoints of one host at most, of either kind. */
  readonly hostEndpoints: number
  /** Hosts that have enough under way. */
  readonly steadyBusy: readonly string[]
  readonly strugglingBusy: readonly string[]
}

/** Endpoints that are looked at in one claim at most; each gives two jobs at most. */
const MAX_ENDPOINTS = 64
const JOBS_PER_ENDPOINT = 2
/** Of a process's requests, for endpoints that struggle: they take long, and however many there are the others have the rest. */
const STRUGGLING_SHARE = 1 / 2
/** Of a process's requests, from which on a host has enough of either kind. One claim may bring it to twice as many. */
const HOST_SHARE = 1 / 8

export class Occupancy {
  readonly #concurrency: number
  readonly #steady = new Map<string, number>()
  readonly #struggling = new Map<string, number>()

  /** @param concurrency requests under way at most. */
  constructor(concurrency: number) {
    this.#concurrency = concurrency
  }

  /** Counts a request until it is disposed of. */
  take({ host, struggling }: Occupant): Disposable {
    const lane = struggling ? this.#struggling : this.#steady
    lane.set(host, (lane.get(host) ?? 0) + 1)
    return {
      [Symbol.dispose]() {
        const left = (lane.get(host) ?? 0) - 1
        if (left > 0) lane.set(host, left)
        else lane.delete(host)
      },
    }
  }

  room(): Claim {
    const [steady, struggling] = [sumOf(this.#steady), sumOf(this.#struggling)]
    const free = endpointsIn(this.#concurrency - steady - struggling)
    const hostRequests = Math.max(JOBS_PER_ENDPOINT, Math.floor(this.#concurrency * HOST_SHARE))
    return {
      steadyEndpoints: free,
      strugglingEndpoints: Math.min(free, endpointsIn(this.#concurrency * STRUGGLING_SHARE - struggling)),
      hostEndpoints: Math.floor(hostRequests / JOBS_PER_ENDPOINT),
      steadyBusy: hostsWith(this.#steady, hostRequests),
      strugglingBusy: hostsWith(this.#struggling, hostRequests),
    }
  }
}

function sumOf(lane: ReadonlyMap<string, number>): number {
  return [...lane.values()].reduce((sum, count) => sum + count, 0)
}

function hostsWith(lane: ReadonlyMap<string, number>, requests: number): string[] {
  return [...lane].filter(([, count]) => count >= requests).map(([host]) => host)
}

function endpointsIn(jobs: number): number {
  return Math.max(0, Math.min(MAX_ENDPOINTS, Math.floor(jobs / JOBS_PER_ENDPOINT)))
}
