/** Helpers for the test harnesses of single services: call a service as the gateway does, and start more processes. */
import type { Call } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { ServiceName } from '@svc/local/topology.ts'
import { createBus } from '@svc/nats/bus.ts'
import { connectNats, drainNats } from '@svc/nats/connect.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { findTestRun } from '../engines/engines.ts'
import { startTestProcess, type TestProcess } from './processes.ts'

export interface ServiceCalls {
  /** Calls the service as the gateway does. */
  call<Q, R>(call: Call<Q, R>, request: Q): Promise<R>
  /** `ok`, or the error code of a refused call. */
  codeOf<Q, R>(call: Call<Q, R>, request: Q): Promise<string>
}

/** Calls use a connection that is closed with the stack. */
export async function connectCalls(
  stack: AsyncDisposableStack,
  natsUrl: string,
  timeoutMs: number,
  { asOperator = false }: { asOperator?: boolean } = {},
): Promise<ServiceCalls> {
  const logger = createLogger('test', 'silent')
  const nats = stack.adopt(await connectNats({ url: natsUrl, name: 'test-caller', logger, asOperator }), drainNats)
  const bus = stack.use(createBus(nats))
  const call: ServiceCalls['call'] = (definition, request) =>
    bus.call(definition, request, { traceparent: newTraceparent(), deadlineMs: Date.now() + timeoutMs })
  return {
    call,
    async codeOf(definition, request) {
      try {
        await call(definition, request)
        return 'ok'
      } catch (error) {
        if (error instanceof ServiceError) return error.code
        throw error
      }
    },
  }
}

/** Starts the service in this process. The test may stop it before the stack is disposed. */
export async function startWithin(
  stack: AsyncDisposableStack,
  start: () => Promise<AsyncDisposable>,
): Promise<AsyncDisposable> {
  const own = stack.use(new AsyncDisposableStack())
  own.use(await start())
  return own
}

/** Starts the service in a separate process, for tests that kill it. */
export async function spawnWithin(
  stack: AsyncDisposableStack,
  service: ServiceName,
  env: NodeJS.ProcessEnv,
): Promise<TestProcess> {
  const run = await findTestRun()
  const child = stack.adopt(
    startTestProcess({ service, run, env: { PATH: process.env.PATH, ...env } }),
    async (one) => {
      await one.stop()
    },
  )
  await child.untilReady()
  return child
}
