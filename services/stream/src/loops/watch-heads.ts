import { HEADS_MAX, listHeads } from '@svc/contracts/messaging.ts'
import type { Channel } from '@svc/nats/channel.ts'
import { type Loop, startLoop } from '@svc/service/loop.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import type { StreamDeps } from '../deps.ts'

/** Twice within the two seconds in which a revoked agent's streams are closed (spec 5.11). */
const INTERVAL_MS = 750
const CALL_LIMIT_MS = 1_000

export interface HeadsWatch {
  readonly loop: Loop
  /** Since heads were last read; of no stream there are none to read. */
  readSecondsAgo(): number
}

/**
 * Asks how far the logs of all open streams go, in one call: finds what was published and not heard, also where nothing
 * comes after it, and who was revoked.
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
        // At the next turn again, rather than after a growing pause: a revocation does not wait.
        logger.warn({ err: error }, 'heads were not read')
      }
      return false
    },
  })
  // What was published meanwhile was not heard.
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
