import { ServiceError } from '@svc/contracts/errors.ts'
import { HEADS_MAX, listHeads, listLate } from '@svc/contracts/messaging.ts'
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
  const asked: (['late', number | null] | ['heads', number])[] = []
  const messaging = {
    isOld: false,
    isComplete: true,
    late: [] as { agent_id: string; head: number }[],
    revoked: [] as string[],
    heads: new Map<string, number>(),
  }
  let nowMs = 0
  const call = async (contract: unknown, request: { revoked_since_ms: number | null } & { agent_ids: string[] }) => {
    if (contract === listHeads) {
      asked.push(['heads', request.agent_ids.length])
      const logOf = (id: string) => ({ head: messaging.heads.get(id) ?? 0, revoked: messaging.revoked.includes(id) })
      return { logs: request.agent_ids.map(logOf) }
    }
    expect(contract).toBe(listLate)
    asked.push(['late', request.revoked_since_ms])
    if (messaging.isOld) throw new ServiceError('unavailable')
    nowMs += 1
    const lists = messaging.isComplete
      ? { logs: messaging.late, revoked: request.revoked_since_ms === null ? [] : messaging.revoked }
      : { logs: [], revoked: [] }
    return { ...lists, is_complete: messaging.isComplete, next_since_ms: nowMs }
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

test('each turn asks for late entries, and every 10 s all heads are read, by pages', async () => {
  await using h = await startScene(Array.from({ length: HEADS_MAX + 1 }, (_, at) => `agent-${at}`))
  const all = [
    ['late', null],
    ['heads', HEADS_MAX],
    ['heads', 1],
  ]
  expect(h.asked.splice(0)).toEqual(all)
  await vi.advanceTimersByTimeAsync(9_750)
  expect(h.asked.splice(0)).toEqual(Array.from({ length: 13 }, (_, at) => ['late', at + 1]))
  await vi.advanceTimersByTimeAsync(750)
  expect(h.asked).toEqual(all)
})

test('without streams nothing is read', async () => {
  await using h = await startScene([])
  await vi.advanceTimersByTimeAsync(20_000)
  expect(h.asked).toEqual([])
})

test('spec 5.11, 9.7: within a turn a late entry reaches its stream, and the stream of a revoked agent is closed', async () => {
  await using h = await startScene(['late', 'revoked', 'other'])
  const [late, revoked, other] = h.open
  for (const stream of h.open) stream.noteHead.mockClear()
  Object.assign(h.messaging, { late: [{ agent_id: 'late', head: 7 }], revoked: ['revoked', 'elsewhere'] })
  await vi.advanceTimersByTimeAsync(750)
  expect(late?.noteHead.mock.calls).toEqual([[7]])
  expect(revoked?.close).toHaveBeenCalledOnce()
  expect([other?.noteHead, other?.close, late?.close].map((spy) => spy?.mock.calls)).toEqual([[], [], []])
})

test.each([
  ['the answer is incomplete', { isComplete: false }],
  ['messaging is of the previous release and does not know the call', { isOld: true }],
])('spec 5.11, 9.7: if %s, the turn reads all heads', async (_, state) => {
  await using h = await startScene(['late', 'revoked'])
  const [late, revoked] = h.open
  Object.assign(h.messaging, state, { heads: new Map([['late', 7]]), revoked: ['revoked'] })
  await vi.advanceTimersByTimeAsync(750)
  expect(late?.noteHead).toHaveBeenLastCalledWith(7)
  expect(revoked?.close).toHaveBeenCalledOnce()
})

test('when NATS is back all heads are read at once, because events may be lost', async () => {
  await using h = await startScene(['agent'])
  h.asked.length = 0
  h.back()
  await vi.advanceTimersByTimeAsync(0)
  expect(h.asked).toEqual([
    ['late', null],
    ['heads', 1],
  ])
})
