import { type GrantResult, grantCredits as grantCall } from '@svc/contracts/budget.ts'
import { ERRORS, ServiceError } from '@svc/contracts/errors.ts'
import { createBus } from '@svc/nats/bus.ts'
import { connectNats, drainNats, type Nats } from '@svc/nats/connect.ts'
import { ApiError, NetworkError } from '@svc/sdk/errors.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { UsageError } from './io.ts'

export interface Grant {
  readonly agent_id: string
  readonly units: number
  /** Names the grant: the same again changes nothing (decisions 49). */
  readonly reference: string
}

const TIMEOUT_MS = 5_000

/**
 * Grants credits. @throws NetworkError where NATS or the budget service does not answer; ApiError `id_conflict` where the
 * reference was used with other values; UsageError where the URL is none.
 */
export async function grantCredits(url: string, grant: Grant): Promise<GrantResult> {
  const nats = await connect(url)
  const bus = createBus(nats)
  try {
    const context = { traceparent: newTraceparent(), deadlineMs: Date.now() + TIMEOUT_MS }
    return await bus.call(grantCall, grant, context)
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    if (error.code === 'unavailable') {
      throw new NetworkError('the budget service does not answer; repeat the grant with the same reference', {
        cause: error,
      })
    }
    const message = error.code === 'id_conflict' ? 'the reference was used for another grant' : error.message
    throw new ApiError({ status: ERRORS[error.code].status, code: error.code, message })
  } finally {
    bus[Symbol.dispose]()
    await drainNats(nats, 1_000)
  }
}

async function connect(url: string): Promise<Nats> {
  const logger = createLogger('svc', 'silent')
  try {
    return await connectNats({ url, name: 'svc admin', logger, firstConnectMs: TIMEOUT_MS })
  } catch (cause) {
    if (!URL.canParse(url)) throw new UsageError('the URL of NATS is none: nats://user:password@host:port', { cause })
    // without the credentials
    throw new NetworkError(`NATS at ${new URL(url).host} does not answer: ${(cause as Error).message}`, { cause })
  }
}
