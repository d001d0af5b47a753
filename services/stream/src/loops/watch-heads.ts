import { HEADS_MAX, listHeads } from '@svc/contracts/messaging.ts'
import type { Channel } from '@svc/nats/channel.ts'
import { type Loop, startLoop } from '@svc/service/loop.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import type { StreamDeps } from '../deps.ts'

/** Two turns fit into the two seconds within which a revoked agent's streams must close (spec 5.11). */
const INTERVAL_MS = 750
const CALL_LIMIT_MS = 1_000

export interface HeadsWatch {
  readonly loop: Loop
  /** Seconds since heads were last read. Without open streams a turn has nothing to read, and counts as a read. */
  readSecondsAgo(): number
}

/**
 * Asks with one call how far the logs of all open streams go and which agents are revoked. So it finds events that were
 * published but not received, even if nothing comes after them.
 */
export function startWatchHeads(
  { bus, logger, streams }: Pick<StreamDeps, 'bus' | 'logger' | 'streams'>,
  channel: Channel,
): HeadsWatch {
  let readMs = performance.now()
  const loop = startLoop({
    name: 'watch-heads',
    logger,
    intervalMs: INTERVAL_MS,
    run: async () => {
      try {
        await watchHeads({ bus, streams })
        readMs = performance.now()
      } catch (error) {
        // Swallow the error, so that the loop retries at its next turn without backoff: revocations are urgent.
        logger.warn({ err: error }, 'heads were not read')
      }
      return false
    },
  })
  // Events that were published while NATS was away were not received.
  void channel.watchConnection((state) => {
    if (state === 'back') loop.wake()
  })
  return { loop, readSecondsAgo: () => (performance.now() - readMs) / 1_000 }
}

async function watchHeads({ bus, streams }: Pick<StreamDeps, 'bus' | 'streams'>): Promise<void> {
  const byAgent = Map.groupBy(streams.open, ({ agentId }) => agentId)
  const agentIds = [...byAgent.keys()]
  for (let at = 0; at < agentIds.length; at += HEADS_MAX) {
    const asked = agentIds.slice(at, at + HEADS_MAX)
    const context = { traceparent: newTraceparent(), deadlineMs: Date.now() + CALL_LIMIT_MS }
    const { logs } = await bus.call(listHeads, { agent_ids: asked }, context)
    asked.forEach((agentId, index) => {
      const log = logs[index]
      if (log === undefined) return
      for (const stream of byAgent.get(agentId) ?? []) {
        if (log.revoked) stream.close()
        else stream.noteHead(log.head)
      }
    })
  }
}
