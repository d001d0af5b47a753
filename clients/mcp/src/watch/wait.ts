import type { Event, Message } from '@svc/contracts/resources.ts'
import { ApiError, EventGapError, NetworkError } from '@svc/sdk/errors.ts'
import type { Call } from '../call.ts'
import type { Mailbox } from '../mailbox.ts'

interface Arrivals {
  readonly events: readonly Event[]
  /** Continue after this cursor. It is past the returned and the skipped events. */
  readonly cursor: number
  /** Whether the service answered the last request. */
  readonly reachable: boolean
  /** Number of events that expired before they could be read. */
  readonly lost: number
}

/** Interval between progress notifications. */
const PROGRESS_MS = 5_000
/** Interval between attempts while the service does not answer. */
const RETRY_MS = 1_000

/**
 * Waits for events after a cursor, for at most `seconds`. Keeps waiting if the connection is lost.
 * @throws the signal's reason; ApiError if waiting does not help.
 */
export async function waitForEvents(
  mailbox: Mailbox,
  {
    after,
    limit,
    seconds,
    wanted,
  }: { after: number; limit: number; seconds: number; wanted: (event: Event) => boolean },
  call: Call,
): Promise<Arrivals> {
  let cursor = after
  let lost = 0
  const { client } = mailbox
  const found = await repeatUntil(mailbox, seconds, call, async (signal) => {
    for (;;) {
      const onGap = (gap: { after: number; earliest: number }): void => {
        lost += gap.earliest - gap.after - 1
      }
      const page = await client.events({ after: cursor, pageSize: limit, onGap, signal }).page()
      const events = page.items.filter(wanted)
      const isEnd = page.next === cursor
      cursor = page.next
      if (events.length > 0) return events
      if (isEnd) return undefined
    }
  })
  return { events: found.value ?? [], cursor, reachable: found.reachable, lost }
}

/** Waits for a reply to a message of this agent. Undefined if none came in time. Throws as `waitForEvents`. */
export async function waitForReply(
  mailbox: Mailbox,
  id: string,
  seconds: number,
  call: Call,
): Promise<Message | undefined> {
  const after = mailbox.sent.find(id)?.after ?? 0
  const wanted = ({ message }: Event): boolean =>
    message.envelope.reply_to === id && !mailbox.senders.isOwn(message.envelope.from)
  const { events } = await waitForEvents(mailbox, { after, limit: 100, seconds, wanted }, call)
  return events[0]?.message
}

async function repeatUntil<T>(
  { watcher }: Mailbox,
  seconds: number,
  { signal, progress }: Call,
  look: (signal: AbortSignal) => Promise<T | undefined>,
): Promise<{ value: T | undefined; reachable: boolean }> {
  const startedMs = Date.now()
  let reachable = true
  for (;;) {
    const seen = watcher.version
    let value: T | undefined
    try {
      value = await look(signal)
      reachable = true
    } catch (error) {
      signal.throwIfAborted()
      if (!isPassing(error)) throw error
      reachable = false
    }
    const elapsedMs = Date.now() - startedMs
    const leftMs = seconds * 1000 - elapsedMs
    if (value !== undefined || leftMs <= 0) return { value, reachable }
    await progress(elapsedMs / 1000, seconds, reachable ? 'waiting' : 'the service does not answer; still waiting')
    await watcher.waitForChange(seen, Math.min(leftMs, reachable ? PROGRESS_MS : RETRY_MS), signal)
  }
}

/** Whether the error may go away by itself. */
export function isPassing(error: unknown): boolean {
  if (error instanceof ApiError) return error.status >= 500 || error.code === 'rate_limited'
  return error instanceof NetworkError || error instanceof EventGapError
}
