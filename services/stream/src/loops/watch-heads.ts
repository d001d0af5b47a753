import { HEADS_MAX, listHeads, listRevoked } from '@svc/contracts/messaging.ts'
import type { Channel } from '@svc/nats/channel.ts'
import { type Loop, startLoop } from '@svc/service/loop.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import type { StreamDeps } from '../deps.ts'

/** Two passes fit into the two seconds within which the streams of a revoked or suspended agent must close (spec 5.11, 12.4). */
const INTERVAL_MS = 750
/** How often the heads of all open streams are read. This finds events that were lost, or never published. */
const ALL_MS = 3_000
const CALL_LIMIT_MS = 1_000

type Deps = Pick<StreamDeps, 'bus' | 'logger' | 'streams'>

export interface HeadsWatch {
  readonly loop: Loop
  /** Seconds since all heads were last read. Without open streams a pass has nothing to read, and counts as a read. */
  readSecondsAgo(): number
}

/**
 * Finds agents that were revoked or suspended, and events that streams did not receive, even if nothing comes after them. Each pass asks
 * messaging who was revoked or suspended lately; this costs the same for any number of streams. The heads of all open streams are read every
 * 3 s, when NATS was away, and when the answer of a pass is incomplete.
 */
export function startWatchHeads({ bus, logger, streams }: Deps, channel: Channel): HeadsWatch {
  let readMs = performance.now()
  let allReadMs = Number.NEGATIVE_INFINITY
  let sinceMs: number | null = null
  const loop = startLoop({
    name: 'watch-heads',
    logger,
    intervalMs: INTERVAL_MS,
    run: async () => {
      try {
        await readChanges()
      } catch (error) {
        // Swallow the error, so that the loop retries at its next pass without backoff: revocations are urgent.
        logger.warn({ err: error }, 'heads were not read')
      }
      return false
    },
  })
  // Events that were published while NATS was away were not received.
  void channel.watchConnection((state) => {
    if (state !== 'back') return
    allReadMs = Number.NEGATIVE_INFINITY
    loop.wake()
  })
  return { loop, readSecondsAgo: () => (performance.now() - readMs) / 1_000 }

  async function readChanges(): Promise<void> {
    if (streams.open.length === 0) {
      allReadMs = Number.NEGATIVE_INFINITY // so that the first pass with a stream reads its head
      readMs = performance.now()
      return
    }
    const beganMs = performance.now()
    const needsAll = beganMs - allReadMs >= ALL_MS
    const since = { since_ms: needsAll ? null : sinceMs }
    const { revoked, is_complete: isComplete, next_since_ms } = await bus.call(listRevoked, since, contextNow())
    if (needsAll || !isComplete) {
      allReadMs = beganMs // before the reads, so that a connection that comes back meanwhile causes another one
      await readAllHeads().catch((error: unknown) => {
        allReadMs = Number.NEGATIVE_INFINITY
        throw error
      })
      readMs = performance.now()
    } else {
      const byAgent = streamsByAgent()
      for (const agentId of revoked) for (const stream of byAgent.get(agentId) ?? []) stream.close()
    }
    sinceMs = next_since_ms
  }

  async function readAllHeads(): Promise<void> {
    const byAgent = streamsByAgent()
    const agentIds = [...byAgent.keys()]
    for (let at = 0; at < agentIds.length; at += HEADS_MAX) {
      const page = agentIds.slice(at, at + HEADS_MAX)
      const { logs } = await bus.call(listHeads, { agent_ids: page }, contextNow())
      logs.forEach(({ head, revoked }, index) => {
        for (const stream of byAgent.get(page[index] ?? '') ?? []) {
          if (revoked) stream.close()
          else stream.noteHead(head)
        }
      })
    }
  }

  function streamsByAgent(): Map<string, StreamDeps['streams']['open'][number][]> {
    return Map.groupBy(streams.open, ({ agentId }) => agentId)
  }
}

function contextNow(): { traceparent: string; deadlineMs: number } {
  return { traceparent: newTraceparent(), deadlineMs: Date.now() + CALL_LIMIT_MS }
}
