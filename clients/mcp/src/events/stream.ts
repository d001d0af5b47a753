import { type Result, type ServerContext, SUBSCRIPTION_ID_META_KEY } from '@modelcontextprotocol/server'
import { sleep } from '@svc/sdk/http/waiting.ts'
import type { Mailbox } from '../mailbox.ts'
import { explainError } from '../output/explain-error.ts'
import { isPassing } from '../watch/wait.ts'
import { encodeCursor } from './cursors.ts'
import { eventError } from './event-errors.ts'
import type { Filter } from './filter.ts'
import { type Batch, readBatch } from './occurrences.ts'

/** Interval between heartbeats of a quiet stream. The extension asks for 30 s at most. */
const HEARTBEAT_MS = 15_000
/** Interval between attempts while the service does not answer. */
const RETRY_MS = 1_000
/** Events that are read at once. Between two batches the stream rests, so that a flood of messages does not flood the client. */
const BATCH = 20
const REST_MS = 250
/**
 * After this many events the stream ends, and the client continues with its cursor in a new one. What a client does not read waits in
 * this process, so it has a bound.
 */
const MAX_EVENTS = 1_000
const MAX_STREAMS = 20

const open = new WeakMap<Mailbox, number>()

interface StreamRequest {
  readonly after: number
  readonly filter: Filter
  readonly since: number | undefined
}

/** Sends events as they arrive, until the client cancels, the stream is long enough, or the service refuses. */
export async function streamEvents(mailbox: Mailbox, request: StreamRequest, context: ServerContext): Promise<Result> {
  const streams = open.get(mailbox) ?? 0
  if (streams >= MAX_STREAMS) {
    throw eventError('ResourceExhausted', 'too many streams are open', { limit: 'streams', max: MAX_STREAMS })
  }
  open.set(mailbox, streams + 1)
  try {
    await runStream(mailbox, request, context)
    return { _meta: { [SUBSCRIPTION_ID_META_KEY]: context.mcpReq.id } }
  } finally {
    open.set(mailbox, (open.get(mailbox) ?? 1) - 1)
  }
}

async function runStream(
  mailbox: Mailbox,
  { after, filter, since }: StreamRequest,
  { mcpReq }: ServerContext,
): Promise<void> {
  const { signal, id, notify } = mcpReq
  const { watcher, aliases } = mailbox
  let sentMs = 0
  const send = async (kind: string, params: object): Promise<void> => {
    sentMs = Date.now()
    const _meta = { [SUBSCRIPTION_ID_META_KEY]: id }
    await notify({ method: `notifications/events/${kind}`, params: { ...params, _meta } })
  }
  let cursor = after
  let isActive = false
  let isAway = false
  let sent = 0
  while (!signal.aborted && sent < MAX_EVENTS) {
    const seen = watcher.version
    let batch: Batch | undefined
    try {
      batch = await readBatch(mailbox, filter, { after: cursor, limit: BATCH, since }, signal)
    } catch (error) {
      if (signal.aborted) return
      const { text } = explainError(error)
      const failure = eventError(isPassing(error) ? 'Internal' : 'Forbidden', text)
      const frame = { error: { code: failure.code, message: failure.message } }
      if (!isPassing(error)) {
        if (!isActive) throw failure
        await send('terminated', frame)
        return
      }
      if (isActive && !isAway) await send('error', frame)
      isAway = true
    }
    if (batch !== undefined) {
      isAway = false
      if (!isActive || batch.truncated) {
        await send('active', { cursor: encodeCursor(aliases, batch.from), truncated: batch.truncated })
        isActive = true
      }
      for (const { event, cursor: at } of batch.occurrences) {
        if (signal.aborted) return
        await send('event', { ...event, cursor: encodeCursor(aliases, at) })
      }
      sent += batch.occurrences.length
      cursor = batch.cursor
    }
    // A stream that waits for the service to answer for the first time is not active, and has no heartbeat either.
    const leftMs = HEARTBEAT_MS - (Date.now() - sentMs)
    if (isActive && leftMs <= 0) await send('heartbeat', { cursor: encodeCursor(aliases, cursor) })
    const rest = batch === undefined ? sleep(RETRY_MS, signal) : batch.more ? sleep(REST_MS, signal) : undefined
    await (rest ?? watcher.waitForChange(seen, Math.max(1, leftMs), signal)).catch(() => undefined)
  }
}
