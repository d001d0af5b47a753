import type { CallContext } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import { openStreamAt, type StreamPlace, type StreamRequest } from '@svc/contracts/stream.ts'
import type { StreamDeps } from '../deps.ts'
import { findRoom } from '../store/processes.ts'
import { type OpenHereDeps, openStreamHere } from './open-stream-here.ts'

type OpenDeps = OpenHereDeps & Pick<StreamDeps, 'bus'>

/** Limit on other processes to ask. The room that they reported may be gone by now. */
const MAX_OTHERS = 4
const CAPACITY_RETRY_SECONDS = 5

/** Opens a stream in this process or, if this process is full, in another one that has room (spec 9.8). */
export async function openStream(deps: OpenDeps, request: StreamRequest, context: CallContext): Promise<StreamPlace> {
  if (deps.streams.room > 0) return openStreamHere(deps, request, context)
  const others = await deps.database.run((sql) => findRoom(sql, deps.processId, MAX_OTHERS))
  for (const other of others) {
    try {
      return await deps.bus.call(openStreamAt(other), request, context)
    } catch (error) {
      // The other process has become full or has stopped, so try the next one.
      if (!(error instanceof ServiceError) || !['stream_capacity', 'unavailable'].includes(error.code)) throw error
    }
  }
  throw new ServiceError('stream_capacity', { retryAfterSeconds: CAPACITY_RETRY_SECONDS })
}
