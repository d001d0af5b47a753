/** The calls of the stream service, from the gateway and between its own processes. */
import { type Static, Type } from '@sinclair/typebox'
import { type Call, defineCall } from './define.ts'
import { AgentId } from './ids.ts'
import { closed, EventCursor } from './resources.ts'

const StreamRequest = closed({ agent_id: AgentId, after: EventCursor })
export type StreamRequest = Static<typeof StreamRequest>

/**
 * A stream that waits to be fetched: `GET <address>/streams/<ticket>`, once, within seconds. `DELETE` on the same path
 * ends it.
 */
const StreamPlace = closed({
  /**
   * `http://host:port` of the process, and nothing else: the gateway appends the path. With a `?`, a `#` or an `@` the text
   * could choose another path or send a login.
   */
  address: Type.String({ pattern: '^http://(?:[\\w.-]+|\\[[\\w:.%]+\\]):[0-9]{1,5}$' }),
  ticket: Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' }),
  /** The longest possible silence of a process that is alive. */
  silence_seconds: Type.Number({ exclusiveMinimum: 0 }),
})
export type StreamPlace = Static<typeof StreamPlace>

/**
 * Opens a stream of the agent's events after `after`, in any process that has room (spec 9.7, 9.8). Codes:
 * `stream_limit` (a third stream), `stream_capacity` (no process has room).
 */
export const openStream = defineCall({ subject: 'svc.stream.open', request: StreamRequest, reply: StreamPlace })

/** Like `openStream`, but only in the given process. */
export function openStreamAt(processId: string): Call<StreamRequest, StreamPlace> {
  return { ...openStream, subject: `svc.stream.open-at.${processId}`, name: 'svc.stream.open-at' }
}

/** Reports the load of the answering process, for monitoring. */
export const measureStreams = defineCall({
  subject: 'svc.stream.measure',
  request: closed({}),
  reply: closed({
    open: Type.Integer({ minimum: 0 }),
    room: Type.Integer({ minimum: 0 }),
    /** Existing events that the most delayed stream has not written yet. Slow clients count. */
    most_behind: Type.Integer({ minimum: 0 }),
    /** Seconds since the heads of the logs were last read. If this exceeds a few seconds, the process only gets live events. */
    heads_read_seconds: Type.Number({ minimum: 0 }),
  }),
})
