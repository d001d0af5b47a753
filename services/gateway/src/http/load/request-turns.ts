/**
 * Shares the time of the event loop between clients. Even a request that is refused costs this process its parsing and an
 * answer. So when a turn of the event loop has begun enough requests, further ones wait for the next turn, and clients take
 * turns. A client that sends ten thousand requests a second delays its own requests, and nobody else's.
 */
import { RoundRobin } from '@svc/batching/round-robin.ts'
import type { Slot } from './load.ts'
import type { Turn } from './turn.ts'

export interface RequestTurns {
  /** @returns undefined if a request may begin now, else a promise of how many ms it has waited. It never rejects. */
  wait(slot: Slot): Promise<number> | undefined
}

/** CPU time that one turn of the event loop may spend before further requests wait. A request takes several turns. */
export const TURN_MS = 50
/** All documents count as one client. The kernel takes 240 KB of each at once, even if the client never reads them. */
const DOCUMENTS = 'documents'

export function createRequestTurns(turn: Turn): RequestTurns {
  const agents = new RoundRobin<string, () => void>()
  /** Unsigned requests get every second place, so a flood of them cannot take more than half of a turn (ADR 16). */
  const strangers = new RoundRobin<string, () => void>()
  let isWaiting = false

  return {
    wait({ kind, client, isUnsigned = false }) {
      if (!isWaiting && !turn.hasUsed(TURN_MS)) return undefined
      const { promise, resolve } = Promise.withResolvers<number>()
      const sinceMs = performance.now()
      const queue = isUnsigned && kind !== 'probe' ? strangers : agents
      queue.push(kind === 'document' ? DOCUMENTS : client, () => resolve(performance.now() - sinceMs))
      if (!isWaiting) {
        isWaiting = true
        setImmediate(beginSome)
      }
      return promise
    },
  }

  /** Begins waiting requests until the turn is used up, and the others in the next turns. */
  async function beginSome(): Promise<void> {
    for (let isAgents = true; ; isAgents = !isAgents) {
      const [first, second] = isAgents ? [agents, strangers] : [strangers, agents]
      const begin = first.shift() ?? second.shift()
      if (begin === undefined) {
        isWaiting = false
        return
      }
      begin.item()
      await undefined // the request does its first work here, so that its CPU time counts
      if (turn.hasUsed(TURN_MS)) {
        setImmediate(beginSome)
        return
      }
    }
  }
}
