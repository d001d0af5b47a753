import type { Bus } from '@svc/nats/bus.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { expect, test } from 'vitest'
import { healthRoutes } from './health.ts'

test('design.md, Failing: readiness is false from the moment the process is asked to stop, whatever the services say', async () => {
  const bus = { call: async () => ({ ready: true }) } as unknown as Bus
  let draining = false
  const [getHealth] = healthRoutes({ bus, isReady: () => !draining })
  const body = { bytes: Buffer.alloc(0), contentType: undefined, contentEncoding: undefined }
  const ask = () => {
    const context = { traceparent: newTraceparent(), deadlineMs: Date.now() + 1_000 }
    return getHealth?.prepare({ params: {}, target: '/v2/health', headers: {}, body })(null, context, Promise.resolve())
  }
  expect(await ask()).toMatchObject({ status: 200 })
  draining = true
  expect(await ask()).toMatchObject({ status: 503 })
})
