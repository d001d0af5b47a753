/** What the gateway knows of the stream service, and its processes of each other. */
import { type Static, Type } from '@sinclair/typebox'
import { type Call, defineCall } from './define.ts'
import { AgentId } from './ids.ts'
import { closed, EventCursor } from './resources.ts'

const StreamRequest = closed({ agent_id: AgentId, after: EventCursor })
export type StreamRequest = Static<typeof StreamRequest>

/** Where a stream waits to be fetched: `GET <address>/streams/<ticket>`, once, within seconds. `DELETE` there ends it. */
const StreamPlace = closed({
  /** `http://host:port` of the process. */
  address: Type.String({ pattern: '^http://[^/]+$' }),
  ticket: Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' }),
  /** Longest time without a byte; more is a process that is gone. */
  silence_seconds: Type.Number({ exclusiveMinimum: 0 }),
})
export type StreamPlace = Static<typeof StreamPlace>

/**
 * Makes room for a stream of the agent's events behind `after`, in whichever process has some. Source: spec 9.7, 9.8.
 * Codes: `stream_limit` (a third one), `stream_capacity` (no process has room).
 */
export const openStream = defineCall({ subject: 'svc.stream.open', request: StreamRequest, reply: StreamPlace })

/** As `openStream`, in one process alone. */
export function openStreamAt(processId: string): Call<StreamRequest, StreamPlace> {
  return { ...openStream, subject: `svc.stream.open-at.${processId}`, name: 'svc.stream.open-at' }
}

/** What the answering process holds, as numbers for whoever watches over the system. */
export const measureStreams = defineCall({
  subject: 'svc.stream.measure',
  request: closed({}),
  reply: closed({
    open: Type.Integer({ minimum: 0 }),
    room: Type.Integer({ minimum: 0 }),
    /** Events that are known to be there and that the stream that lacks most has not written; slow clients count. */
    most_behind: Type.Integer({ minimum: 0 }),
    /** Since the heads of the logs were last read: longer than some seconds is a process that only hears. */
    heads_read_seconds: Type.Number({ minimum: 0 }),
  }),
})
