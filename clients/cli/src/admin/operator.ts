import { ConfigError } from '@svc/config/env-reader.ts'
import type { NatsConfig } from '@svc/config/nats-access.ts'
import { parseNatsUrl } from '@svc/config/nats-url.ts'
import { askedBy } from '@svc/contracts/admin.ts'
import type { Call } from '@svc/contracts/define.ts'
import { ERRORS, ServiceError } from '@svc/contracts/errors.ts'
import { createBus } from '@svc/nats/bus.ts'
import { connectNats, drainNats, isLoginRefused, type Nats } from '@svc/nats/connect.ts'
import { ApiError } from '@svc/sdk/errors.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { TlsError } from '@svc/tls/failure.ts'
import { UsageError } from '../io.ts'
import { OperatorNetworkError } from './operator-network-error.ts'

/** A connection as one operator, whose login may make the calls in libs/contracts/src/admin.ts under its own name, and few others. */
export interface Operator {
  readonly nats: Nats
  /**
   * Every call of the operator may be repeated.
   * @param limitMs the timeout. Calls that read whole tables need a long one.
   * @throws OperatorNetworkError if NATS or the service does not answer.
   * @throws ApiError if the service refuses.
   */
  ask<Q, R>(call: Call<Q, R>, request: Q, limitMs?: number): Promise<R>
}

const CONNECT_MS = 5_000
const ASK_MS = 5_000

/** Connects, works, and disconnects. @throws UsageError if the URL is invalid; OperatorNetworkError if NATS does not answer. */
export async function withOperator<T>(config: NatsConfig, work: (operator: Operator) => Promise<T>): Promise<T> {
  const nats = await connect(config)
  const bus = createBus(nats)
  const { operator = '' } = nats
  let denied = ''
  const hearDenials = async (): Promise<void> => {
    for await (const { permissionContext } of nats.connection.status()) {
      if (permissionContext !== undefined) denied = `${permissionContext.operation} ${permissionContext.subject}`
    }
  }
  void hearDenials()
  try {
    return await work({
      nats,
      async ask(call, request, limitMs = ASK_MS) {
        try {
          return await bus.call(askedBy(operator, call), request, {
            traceparent: newTraceparent(),
            deadlineMs: Date.now() + limitMs,
          })
        } catch (error) {
          throw explain(error, call.subject, { operator, denied })
        }
      },
    })
  } finally {
    bus[Symbol.dispose]()
    await drainNats(nats, 1_000)
  }
}

/** @param denied what NATS has forbidden, in its words. */
function explain(error: unknown, subject: string, { operator, denied }: { operator: string; denied: string }): unknown {
  if (!(error instanceof ServiceError)) return error
  const { code, message } = error
  const [, service = subject] = subject.split('.')
  if (code === 'unavailable' && denied !== '') {
    const name = operator === '' ? 'without a name' : `as ${operator}`
    return new OperatorNetworkError(
      `NATS does not let this login act ${name} (${denied}): compare the operators in deploy/nats/users.conf, and SVC_NATS_USER`,
      { cause: error },
    )
  }
  if (code === 'unavailable') {
    return new OperatorNetworkError(`the ${service} service did not answer in time; you may repeat the command`, {
      cause: error,
    })
  }
  return new ApiError({ status: ERRORS[code].status, code, message })
}

async function connect({ natsUrl: url, natsAccess: access }: NatsConfig): Promise<Nats> {
  const logger = createLogger('svc', 'silent')
  const servers = serversOf(url)
  try {
    return await connectNats({ url, access, name: 'svc admin', logger, asOperator: true, firstConnectMs: CONNECT_MS })
  } catch (cause) {
    if (cause instanceof ConfigError) throw new UsageError(cause.message, { cause })
    if (cause instanceof TlsError) throw new OperatorNetworkError(cause.message, { cause })
    if (isLoginRefused(cause)) throw new OperatorNetworkError(`NATS at ${servers} refuses this login`, { cause })
    throw new OperatorNetworkError(`NATS at ${servers} does not answer: ${(cause as Error).message}`, { cause })
  }
}

/** The hosts of the URL, without the credentials. */
function serversOf(url: string): string {
  try {
    return parseNatsUrl(url).servers.join(', ')
  } catch (cause) {
    throw new UsageError(`the URL of NATS ${(cause as Error).message}`, { cause })
  }
}
