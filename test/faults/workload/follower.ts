import { setTimeout as sleep } from 'node:timers/promises'
import { openEventStream } from '../../support/client/event-stream.ts'
import { fingerprint } from '../history/fingerprint.ts'
import type { History } from '../history/history.ts'
import type { Actor } from './scene.ts'

/** A client of the stream that reconnects with its last cursor after every failure (spec 13.4). */
export interface RoundFollower {
  readonly actor: Actor
  /** The number of the agent's client. */
  readonly client: number
  /** No event at or below this cursor is missing. */
  readonly last: number
  stop(): Promise<void>
}

const RETRY_MS = 150

export function startRoundFollower(
  actor: Actor,
  client: number,
  urls: readonly string[],
  history: History,
): RoundFollower {
  let connection = 0
  let last = 0
  let stopped = false
  let close: (() => void) | undefined
  const done = follow()
  return {
    actor,
    client,
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
    for (let turn = client; !stopped; turn += 1) {
      const wasAt = last
      try {
        await connect(urls[turn % urls.length] ?? '')
      } catch (error) {
        if (!isLost(error)) note('stream', String(error))
      }
      if (last === wasAt && !stopped) await sleep(RETRY_MS)
    }
  }

  async function connect(url: string): Promise<void> {
    const common = { type: 'stream', actor: actor.agent.id, client, connection: connection + 1 } as const
    using stream = await openEventStream(actor.agent, '', {
      url,
      headers: { 'last-event-id': String(last) },
      onFrame: ({ event, id, data }) => {
        if (event === undefined) return
        const cursor = Number(id)
        if (event === 'message') {
          const { kind, message } = JSON.parse(data ?? '')
          const { envelope } = message
          const digest = fingerprint(envelope)
          history.add({ ...common, atMs: Date.now(), event, cursor, id: envelope.id, digest, kind })
        } else history.add({ ...common, atMs: Date.now(), event: 'cursor', cursor })
        last = Math.max(last, cursor)
      },
    })
    if (stream.status !== 200) {
      // Possible are a 503, a 429 until the leases of a dead process expire, and a 401 for a revoked agent.
      if (![401, 429, 503].includes(stream.status)) note('stream', `${stream.status} ${stream.text}`)
      return
    }
    connection += 1
    history.add({ ...common, atMs: Date.now(), event: 'open', cursor: last })
    close = () => stream.close()
    if (stopped) stream.close()
    await stream.over
    history.add({ ...common, atMs: Date.now(), event: 'over', cursor: last })
  }

  function note(rule: string, text: string): void {
    history.add({ type: 'problem', rule, text: `${actor.agent.name}: ${text}`, atMs: Date.now() })
  }
}

/** The error of `fetch` if nothing listens, or if the connection ends before the answer. */
function isLost(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof DOMException && error.name === 'AbortError')
}
