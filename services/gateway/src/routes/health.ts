import { Type } from '@sinclair/typebox'
import type { CallContext } from '@svc/contracts/define.ts'
import { healthOf } from '@svc/contracts/health.ts'
import { SERVICE } from '@svc/contracts/limits.ts'
import { Health } from '@svc/contracts/resources.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { EXAMPLES } from '../api/examples.ts'
import { defineOperation, type Operation } from '../api/operation.ts'
import { jsonAnswer } from '../http/answer.ts'

export interface HealthDeps {
  readonly bus: Bus
  /** False once this process was asked to stop. */
  readonly isReady: () => boolean
}

/** The services without which the API does not work. */
const SERVICES = ['identity', 'messaging', 'boards', 'budget', 'stream', 'webhook'] as const

/** A service that does not answer within this time counts as down: the caller wants to know whether to send requests here. */
const HEALTH_DEADLINE_MS = 1_500
/** One probe asks six services and their databases. Requests share its answer for this long, so a flood costs at most 4 probes/s. */
const SHARED_MS = 250
/** Every 503 has this header. */
const RETRY_SOON = { 'retry-after': '1' }

/** Tells a client whether the proxies in front name it correctly; `svc doctor` reads it. */
const CLIENT_ADDRESS_HEADER = {
  'X-SVC-Client-Address': {
    schema: Type.String(),
    description: 'The address that this request counts for.',
    example: '203.0.113.9',
  },
} as const

export function healthRoutes({ bus, isReady }: HealthDeps): Operation[] {
  const checks = SERVICES.map((name) => healthOf(name))

  let shared: Promise<boolean> | undefined

  /** Single-flight: requests that come during a probe, or within `SHARED_MS` after it, share its answer. */
  function areReady({ traceparent }: CallContext): Promise<boolean> {
    shared ??= probe({ traceparent, deadlineMs: Date.now() + HEALTH_DEADLINE_MS }).finally(() => {
      setTimeout(() => {
        shared = undefined
      }, SHARED_MS).unref()
    })
    return shared
  }

  async function probe(context: CallContext): Promise<boolean> {
    const answers = await Promise.allSettled(checks.map((check) => bus.call(check, {}, context)))
    return answers.every((answer) => answer.status === 'fulfilled' && answer.value.ready)
  }

  return [
    defineOperation({
      id: 'getHealth',
      method: 'GET',
      path: '/v2/health',
      tag: 'Service',
      summary: 'Whether the service is ready',
      description:
        'Asks every service that the API needs. Each service and its database must answer. The result may be 250 ms old.',
      auth: 'optional',
      responses: {
        200: { description: 'Ready', schema: Health, example: EXAMPLES.healthy, headers: CLIENT_ADDRESS_HEADER },
        503: { description: 'Not ready', schema: Health, example: EXAMPLES.unhealthy },
      },
    }).handle(async ({ context, clientAddress }) => {
      const ready = isReady() && (await areReady(context))
      const status = ready ? 'ok' : 'unavailable'
      const answer = jsonAnswer(ready ? 200 : 503, { status, service: SERVICE.name, version: SERVICE.version })
      return { ...answer, headers: ready ? { 'x-svc-client-address': clientAddress() } : RETRY_SOON }
    }),
  ]
}
