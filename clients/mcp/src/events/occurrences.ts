import { createHash } from 'node:crypto'
import type { Event } from '@svc/contracts/resources.ts'
import type { EventPage } from '@svc/sdk/events/event-listing.ts'
import type { Mailbox } from '../mailbox.ts'
import { createFence } from '../output/fence.ts'
import { timeOf } from '../reading/time.ts'
import { viewMessage } from '../reading/view.ts'
import { createBorder } from '../tools/border.ts'
import { assertFits, checkOf } from '../tools/json-schema.ts'
import { MESSAGE_RECEIVED, PAYLOAD } from './event-type.ts'
import type { Filter } from './filter.ts'

/** An EventOccurrence of the extension, and its place in the log. */
interface Occurrence {
  readonly cursor: number
  readonly event: {
    readonly eventId: string
    readonly name: string
    readonly timestamp: string
    readonly data: object
  }
}

export interface Batch {
  readonly occurrences: readonly Occurrence[]
  /** The batch begins after this cursor. It is greater than the cursor asked for if events are gone. */
  readonly from: number
  /** Continue after this cursor. */
  readonly cursor: number
  /** Whether events after the cursor asked for are gone, or older than asked for. */
  readonly truncated: boolean
  /** Whether the log goes on. */
  readonly more: boolean
}

interface Place {
  /** Cursor of the last event that the client has. */
  readonly after: number
  /** The most events that are read of the log at once. */
  readonly limit: number
  /** Events before this time, in Unix seconds, are left out. */
  readonly since?: number | undefined
}

/** Pages of the log that one batch reads to find an event that fits. */
const MAX_PAGES = 10

const SCHEMA = checkOf(PAYLOAD)

/** Reads the events of the log after a cursor. Costs no units. */
export async function readBatch(mailbox: Mailbox, filter: Filter, place: Place, signal: AbortSignal): Promise<Batch> {
  const { limit, since = 0 } = place
  let { after: from, after: cursor } = place
  let truncated = false
  for (let pages = 1; ; pages += 1) {
    const page = await mailbox.client.events({ after: cursor, pageSize: limit, signal }).page()
    const { latest = page.next } = page
    const start = startIn(page, cursor)
    if (start !== cursor) [from, truncated] = [start, true]
    const next = Math.max(start, Math.min(page.next, latest))
    const young = page.items.filter(({ message }) => message.created_at >= since)
    const isOld = young.length < page.items.length
    if (isOld) truncated = true
    const fitting = []
    for (const event of young) if (await filter(event, signal)) fitting.push(event)
    // A log that claims more without advancing would keep the caller busy for ever.
    const more = next < latest && next > cursor
    if (fitting.length > 0 || !more || pages === MAX_PAGES) {
      const occurrences = await occurrencesOf(mailbox, fitting, signal)
      return { occurrences, from, cursor: next, truncated, more }
    }
    cursor = next
  }
}

/** The place where reading can begin after a cursor, and whether events in between are gone. */
export async function findStart(
  { client }: Mailbox,
  after: number,
  signal: AbortSignal,
): Promise<{ cursor: number; truncated: boolean }> {
  const cursor = startIn(await client.events({ after, pageSize: 1, signal }).page(), after)
  return { cursor, truncated: cursor !== after }
}

/** The cursor itself, unless events after it are gone, or the log is shorter, e.g. because the service was restored from a backup. */
function startIn({ earliest = 0, latest, next }: EventPage, cursor: number): number {
  const end = latest ?? next
  return cursor > end ? end : Math.max(cursor, earliest - 1)
}

/** The texts of a batch share the characters of one result. Events beyond that are pointers. */
async function occurrencesOf(
  mailbox: Mailbox,
  events: readonly Event[],
  signal: AbortSignal,
): Promise<readonly Occurrence[]> {
  const occurrences = []
  let characters = mailbox.policy.eventText ? mailbox.resultCharacters : 0
  for (const event of events) {
    const { message, fence } = await viewOf(mailbox, event, characters, signal)
    characters -= message.text?.length ?? 0
    const data = createBorder(mailbox).show(PAYLOAD, { message, fence })
    await assertFits(SCHEMA, data)
    const timestamp = timeOf(event.message.created_at)
    occurrences.push({
      cursor: event.cursor,
      event: { eventId: eventIdOf(mailbox, event), name: MESSAGE_RECEIVED, timestamp, data },
    })
  }
  return occurrences
}

/** @param characters left for texts. Without any the message has no text, and `next_offset` is its beginning. */
async function viewOf(mailbox: Mailbox, { kind, message }: Event, characters: number, signal: AbortSignal) {
  const fence = createFence()
  const view = await viewMessage(
    mailbox,
    { ...message, lane: kind },
    { fence, characters: Math.max(1, characters) },
    signal,
  )
  if (characters > 0) return { message: view, fence: fence.nonce }
  return { message: { ...view, text: null, next_offset: view.text === null ? null : 0 }, fence: fence.nonce }
}

/** The same for every delivery of an event, and different for each event of any agent. */
function eventIdOf({ key }: Mailbox, { cursor, message }: Event): string {
  return createHash('sha256').update(`${key.agentId}:${cursor}:${message.envelope.id}`).digest('hex').slice(0, 32)
}
