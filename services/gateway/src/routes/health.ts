import type { CallContext } from '@svc/contracts/define.ts'
import { healthOf } from '@svc/contracts/health.ts'
import { SERVICE } from '@svc/contracts/limits.ts'
import { Health } from '@svc/contracts/resources.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { jsonAnswer } from '../answer.ts'
import { EXAMPLES } from '../examples.ts'
import { defineOperation, type Operation } from '../operation.ts'

export interface HealthDeps {
  readonly bus: Bus
  /** False from the moment this process is asked to stop. */
  readonly isReady: () => boolean
}

/** The services without which the API does not work. */
const SERVICES = ['identity', 'messaging', 'boards', 'budget', 'stream', 'webhook'] as const

/** A service that has not answered by then is as good as none for somebody who asks whether to send requests here. */
const HEALTH_DEADLINE_MS = 1_500
/** A probe asks six services and their databases. Requests share its answer for this long, so a flood of them costs four probes a second. */
const SHARED_MS = 250
/** As on every 503. */
const RETRY_SOON = { 'retry-after': '1' }

export function healthRoutes({ bus, isReady }: HealthDeps): Operation[] {
  const checks = SERVICES.map((name) => healthOf(name))

  let shared: Promise<boolean> | undefined

  /** One probe at a time. Whoever asks while it is under way, or soon after it, gets its answer. */
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
        'Asks every service that the API needs: each must answer, and its database must. The answer may be 250 ms old.',
      auth: 'optional',
      responses: {
        200: { description: 'Ready', schema: Health, example: EXAMPLES.healthy },
        503: { description: 'Not ready', schema: Health, example: EXAMPLES.unhealthy },
      },
      handle: async ({ context }) => {
        const ready = isReady() && (await areReady(context))
        const status = ready ? 'ok' : 'unavailable'
        const answer = jsonAnswer(ready ? 200 : 503, { status, service: SERVICE.name, version: SERVICE.version })
        return ready ? answer : { ...answer, headers: RETRY_SOON }
      },
    }),
  ]
}
