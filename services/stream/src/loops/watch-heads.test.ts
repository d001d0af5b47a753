import { HEADS_MAX, listHeads, listRevoked } from '@svc/contracts/messaging.ts'
import type { Bus } from '@svc/nats/bus.ts'
import type { Channel } from '@svc/nats/channel.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Streams } from '../streams/streams.ts'
import { startWatchHeads } from './watch-heads.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** The loop over streams of these agents, with a messaging in memory. */
async function startScene(agentIds: readonly string[]) {
  const open = agentIds.map((agentId) => ({ agentId, noteHead: vi.fn(), close: vi.fn() }))
  const asked: (['revoked', number | null] | ['heads', number])[] = []
  const messaging = {
    isComplete: true,
    /** What happens while heads are read. */
    whileReading: () => {},
    revoked: [] as string[],
    heads: new Map<string, number>(),
  }
  let nowMs = 0
  const call = async (contract: unknown, request: { since_ms: number | null } & { agent_ids: string[] }) => {
    if (contract === listHeads) {
      asked.push(['heads', request.agent_ids.length])
      messaging.whileReading()
      const logOf = (id: string) => ({ head: messaging.heads.get(id) ?? 0, revoked: messaging.revoked.includes(id) })
      return { logs: request.agent_ids.map(logOf) }
    }
    expect(contract).toBe(listRevoked)
    asked.push(['revoked', request.since_ms])
    nowMs += 1
    const revoked = messaging.isComplete && request.since_ms !== null ? messaging.revoked : []
    return { revoked, is_complete: messaging.isComplete, next_since_ms: nowMs }
  }
  let changed: (state: 'lost' | 'back') => void = () => {}
  const channel = {
    watchConnection: async (watch: typeof changed) => {
      changed = watch
    },
  } as unknown as Channel
  const deps = {
    bus: { call } as unknown as Bus,
    logger: createLogger('test', 'silent'),
    streams: { open } as unknown as Streams,
  }
  const { loop } = startWatchHeads(deps, channel)
  await vi.advanceTimersByTimeAsync(0)
  return {
    open,
    asked,
    messaging,
    back: () => changed('back'),
    async [Symbol.asyncDispose]() {
      vi.useRealTimers()
      await loop[Symbol.asyncDispose]()
    },
  }
}

test('each pass asks who was revoked, and every 3 s all heads are read, by pages', async () => {
  await using h = await startScene(Array.from({ length: HEADS_MAX + 1 }, (_, at) => `agent-${at}`))
  const all = [
    ['revoked', null],
    ['heads', HEADS_MAX],
    ['heads', 1],
  ]
  expect(h.asked.splice(0)).toEqual(all)
  await vi.advanceTimersByTimeAsync(2_250)
  expect(h.asked.splice(0)).toEqual(Array.from({ length: 3 }, (_, at) => ['revoked', at + 1]))
  await vi.advanceTimersByTimeAsync(750)
  expect(h.asked).toEqual(all)
})

test('without streams nothing is read', async () => {
  await using h = await startScene([])
  await vi.advanceTimersByTimeAsync(20_000)
  expect(h.asked).toEqual([])
})

test('spec 5.11: within a pass the stream of a revoked agent is closed', async () => {
  await using h = await startScene(['revoked', 'other'])
  const [revoked, other] = h.open
  h.messaging.revoked = ['revoked', 'elsewhere']
  await vi.advanceTimersByTimeAsync(750)
  expect(revoked?.close).toHaveBeenCalledOnce()
  expect(other?.close).not.toHaveBeenCalled()
})

test('spec 9.7: an event that was lost, or never published, reaches its stream within 5 s', async () => {
  await using h = await startScene(['agent'])
  h.messaging.heads.set('agent', 7)
  await vi.advanceTimersByTimeAsync(4_750)
  expect(h.open[0]?.noteHead).toHaveBeenLastCalledWith(7)
})

test('spec 5.11: if too many agents were revoked for one answer, the pass reads all heads', async () => {
  await using h = await startScene(['revoked'])
  Object.assign(h.messaging, { isComplete: false, revoked: ['revoked'] })
  await vi.advanceTimersByTimeAsync(750)
  expect(h.open[0]?.close).toHaveBeenCalledOnce()
})

test('when NATS is back all heads are read at once, because events may be lost', async () => {
  await using h = await startScene(['agent'])
  h.asked.length = 0
  h.back()
  await vi.advanceTimersByTimeAsync(0)
  expect(h.asked).toEqual([
    ['revoked', null],
    ['heads', 1],
  ])
})

test('if NATS is back while heads are read, they are read again', async () => {
  await using h = await startScene(['agent'])
  h.messaging.whileReading = () => {
    h.messaging.whileReading = () => {}
    h.back()
  }
  h.asked.length = 0
  h.back()
  await vi.advanceTimersByTimeAsync(0)
  expect(h.asked.filter(([kind]) => kind === 'heads')).toHaveLength(2)
})
