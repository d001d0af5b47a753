/** A client of the stream as in spec 13.4: it reconnects with its last cursor after every failure, and records everything delivered. */

import { eventually } from '../eventually.ts'
import type { Agent } from './agent.ts'
import { openEventStream } from './event-stream.ts'

interface Delivered {
  readonly cursor: number
  readonly id: string
}

export interface Follower {
  readonly agent: Agent
  /** Everything delivered on all connections, in order of arrival. */
  readonly delivered: readonly Delivered[]
  /** Number of connections opened so far. */
  readonly connections: number
  /** The last cursor, from a delivered event or from a `cursor` frame. */
  readonly last: number
  stop(): Promise<void>
}

interface FollowerOptions {
  /** Gateways, used in turn. */
  readonly urls: readonly string[]
  /** Pause between two chunks, to simulate a slow client. */
  readonly readDelayMs?: number
}

const RETRY_MS = 100

export function startFollower(agent: Agent, { urls, readDelayMs = 0 }: FollowerOptions): Follower {
  const delivered: Delivered[] = []
  let connections = 0
  let last = 0
  let stopped = false
  let close: (() => void) | undefined
  const done = follow()

  return {
    agent,
    delivered,
    get connections() {
      return connections
    },
    get last() {
      return last
    },
    async stop() {
      stopped = true
      close?.()
      await done
    },
  }

  async function follow(): Promise<void> {
    for (let turn = 0; !stopped; turn += 1) {
      const wasAt = last
      try {
        const url = urls[turn % urls.length] ?? ''
        using stream = await openEventStream(agent, '', {
          url,
          headers: { 'last-event-id': String(last) },
          readDelayMs,
          onFrame: ({ event, id, data }) => {
            if (event === undefined) return
            const cursor = Number(id)
            if (event === 'message') delivered.push({ cursor, id: JSON.parse(data ?? '').message.envelope.id })
            last = Math.max(last, cursor)
          },
        })
        if (stream.status === 200) {
          connections += 1
          close = () => stream.close()
          if (stopped) stream.close()
          await stream.over
        }
      } catch (error) {
        if (!(error instanceof TypeError)) throw error // fetch throws TypeError if nothing listens
      }
      if (last === wasAt && !stopped) await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
  }
}

/** Waits until a follower has reached the end of its agent's log. */
export async function untilCaughtUp(follower: Follower, head: number, timeoutMs: number): Promise<void> {
  const what = `${follower.agent.name} having come from ${follower.last} to ${head}`
  await eventually(() => follower.last >= head, { timeoutMs, what })
}
