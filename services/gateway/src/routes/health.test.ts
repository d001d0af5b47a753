import type { CallContext } from '@svc/contracts/define.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Answer } from '../http/answer.ts'
import { healthRoutes } from './health.ts'

const SERVICES = 6
const BODY = { bytes: Buffer.alloc(0), contentType: undefined, contentEncoding: undefined }

let ready: boolean
let draining: boolean
let calls: number
let ask: () => Promise<Answer | undefined>
beforeEach(() => {
  vi.useFakeTimers()
  ready = true
  draining = false
  calls = 0
  const call = async (): Promise<{ ready: boolean }> => {
    calls += 1
    return { ready }
  }
  const [getHealth] = healthRoutes({ bus: { call } as unknown as Bus, isReady: () => !draining })
  ask = async () => {
    const context: CallContext = { traceparent: newTraceparent(), deadlineMs: Date.now() + 1_000 }
    const input = { params: {}, target: '/v2/health', headers: {}, body: BODY, clientAddress: () => '192.0.2.1' }
    return getHealth?.prepare(input)(null, context, Promise.resolve())
  }
})
afterEach(() => {
  vi.useRealTimers()
})

test('readiness is false from the moment when the process is asked to stop, even if all services are up', async () => {
  expect(await ask()).toMatchObject({ status: 200 })
  draining = true
  expect(await ask()).toMatchObject({ status: 503 })
})

test.each([
  [true, 200, 503],
  [false, 503, 200],
])(
  'requests share one probe and its answer for 250 ms, then the next one probes again: ready %s',
  async (first, status, next) => {
    ready = first
    expect(await Promise.all([ask(), ask(), ask()])).toMatchObject([{ status }, { status }, { status }])
    ready = !first
    await vi.advanceTimersByTimeAsync(249)
    expect(await ask()).toMatchObject({ status })
    expect(calls).toBe(SERVICES)
    await vi.advanceTimersByTimeAsync(1)
    expect(await Promise.all([ask(), ask()])).toMatchObject([{ status: next }, { status: next }])
    expect(calls).toBe(SERVICES * 2)
  },
)
