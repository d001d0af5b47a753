/** The loads that sending is measured under: one connection that rests, one that does not, and many. */

/** How requests arrive. */
export interface Load {
  name: string
  connections: number
  seconds: number
  /** Requests to prepare for one second, if the server needs fewer than the default. */
  perSecond?: number
  /** The pause between an answer and the next request. */
  restMs?: number
}

interface LoadsOptions {
  /** Connections of the main load. */
  connections: number
  secondsPerRound: number
  idleSeconds: number
  /** Further loads, by their number of connections. */
  further?: readonly number[]
}

/** Long enough for the work after an answer, even on a slow machine: publishing and settling. */
export const REST_MS = 60
const MOST_CONNECTIONS = 256

export function loadsOf({ connections, secondsPerRound, idleSeconds, further = [] }: LoadsOptions): Load[] {
  const counts = new Set([...further, connections, MOST_CONNECTIONS])
  const busy = [...counts]
    .toSorted((a, b) => a - b)
    .map((count) => ({ name: String(count), connections: count, seconds: secondsPerRound }))
  return [
    {
      name: '1, at rest',
      connections: 1,
      seconds: idleSeconds,
      perSecond: Math.ceil(1_000 / REST_MS),
      restMs: REST_MS,
    },
    { name: '1', connections: 1, seconds: 1, perSecond: 1_000 },
    ...busy,
  ]
}
