/** A client of the stream as spec 13.4 asks for one: comes back with its last cursor, whatever breaks, and keeps all that it was given. */

import { eventually } from '../eventually.ts'
import type { Agent } from './agent.ts'
import { openEventStream } from './event-stream.ts'

interface Delivered {
  readonly cursor: number
  readonly id: string
}

export interface Follower {
  readonly agent: Agent
  /** Everything that was delivered, over all connections, in order of arrival. */
  readonly delivered: readonly Delivered[]
  /** Connections that were opened. */
  readonly connections: number
  /** Has come so far: delivered, or told that there is nothing to deliver. */
  readonly last: number
  stop(): Promise<void>
}

interface FollowerOptions {
  /** Gateways, which are used in turn. */
  readonly urls: readonly string[]
  /** Between two chunks: a client that reads slowly. */
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
        if (!(error instanceof TypeError)) throw error // what fetch throws where nobody listens
      }
      if (last === wasAt && !stopped) await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
  }
}

/** Until a follower has come to where the log of its agent ends. */
export async function untilCaughtUp(follower: Follower, head: number, timeoutMs: number): Promise<void> {
  const what = `${follower.agent.name} having come from ${follower.last} to ${head}`
  await eventually(() => follower.last >= head, { timeoutMs, what })
}
