import type { CallContext } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { StreamPlace, StreamRequest } from '@svc/contracts/stream.ts'
import { sqlStateOf } from '@svc/postgres/errors.ts'
import type { StreamDeps } from '../deps.ts'
import { takeLease } from '../store/leases.ts'

export interface OpenHereDeps extends Pick<StreamDeps, 'database' | 'streams' | 'processId'> {
  /** The address from which gateways fetch the streams of this process. */
  readonly address: string
  /** The longest time without a byte, including a margin. */
  readonly silenceSeconds: number
}

const LIMIT_RETRY_SECONDS = 2
const CAPACITY_RETRY_SECONDS = 5
/** Postgres: foreign key violation. The lease refers to the row of this process. */
const PROCESS_REMOVED = '23503'

/**
 * Opens a stream in this process, with one of the agent's leases. Codes: `stream_limit`, `stream_capacity`; `unavailable` if other
 * processes have removed this one, because it was paused, until it reports again.
 */
export async function openStreamHere(
  { database, streams, processId, address, silenceSeconds }: OpenHereDeps,
  request: StreamRequest,
  { traceparent }: CallContext,
): Promise<StreamPlace> {
  if (streams.room <= 0) throw new ServiceError('stream_capacity', { retryAfterSeconds: CAPACITY_RETRY_SECONDS })
  const seat = streams.reserve(request, traceparent)
  try {
    const taken = await database.run((sql) => takeLease(sql, seat.agentId, seat.leaseId, processId))
    if (!taken) throw new ServiceError('stream_limit', { retryAfterSeconds: LIMIT_RETRY_SECONDS })
  } catch (error) {
    streams.leave(seat)
    throw sqlStateOf(error) === PROCESS_REMOVED ? new ServiceError('unavailable', { cause: error }) : error
  }
  return { address, silence_seconds: silenceSeconds, ...streams.admit(seat) }
}
