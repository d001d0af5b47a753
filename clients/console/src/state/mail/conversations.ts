/** Groups messages into conversations: by thread. Messages without a thread form one conversation for each other agent. */
import type { Envelope } from '@svc/contracts/resources.ts'
import type { Entry } from './archive.ts'
import type { Pending } from './outbox.ts'

export interface Conversation {
  /** `thread:<id of the root>` or `with:<name or id of the other agent>`. */
  readonly key: string
  /** The other agent, as its newest message names it: an address or an id. */
  readonly peer: string
  /** Id of the root, if it is a thread. */
  readonly root: string | undefined
  /** Oldest first. */
  readonly entries: readonly Entry[]
  /** Own messages that the service has not accepted yet, oldest first. */
  readonly waiting: readonly Pending[]
  readonly unread: number
  /** Whether a message waits for a decision about its sender. */
  readonly isRequest: boolean
  /** Whether every message is an unwanted request (ignored, or from a blocked agent), and no own message waits to be sent. */
  readonly isHidden: boolean
  /** Time of the newest message, in epoch milliseconds. */
  readonly newestMs: number
}

export interface Rules {
  isOwn(from: string): boolean
  /** One text for all ways to name an agent: its name, or else its id. */
  nameOf(who: string): string
  isUnread(cursor: number): boolean
  /** Whether the message is ignored, or its sender is blocked. */
  isUnwanted(entry: Entry): boolean
}

interface Group {
  key: string
  root: string | undefined
  entries: Entry[]
  waiting: Pending[]
}

/** Newest first. */
export function groupConversations(
  entries: readonly Entry[],
  pending: readonly Pending[],
  rules: Rules,
): readonly Conversation[] {
  const groups = new Map<string, Group>()
  const roots = new Set([
    ...entries.flatMap(({ message }) => message.envelope.thread_id ?? []),
    ...pending.flatMap(({ envelope }) => envelope.thread_id ?? []),
  ])
  const groupOf = (envelope: Envelope): Group => {
    const root = envelope.thread_id ?? (roots.has(envelope.id) ? envelope.id : undefined)
    const key = root === undefined ? `with:${rules.nameOf(peerOf(envelope, rules))}` : `thread:${root}`
    const known = groups.get(key)
    if (known !== undefined) return known
    const group = { key, root, entries: [], waiting: [] }
    groups.set(key, group)
    return group
  }
  for (const entry of entries) groupOf(entry.message.envelope).entries.push(entry)
  // A message that has just been accepted is in both lists for a moment.
  const accepted = new Set(entries.map(({ message }) => message.envelope.id))
  for (const one of pending) {
    const { id, to } = one.envelope
    if (!to.startsWith('board:') && !accepted.has(id)) groupOf(one.envelope).waiting.push(one)
  }
  return [...groups.values()].map((group) => conversationOf(group, rules)).sort((a, b) => b.newestMs - a.newestMs)
}

/** The other side of a message. */
export function peerOf({ from, to }: Envelope, { isOwn }: Pick<Rules, 'isOwn'>): string {
  return isOwn(from) ? to : from
}

/** The newest message from the other agent, for `reply_to`. */
export function answeredBy({ entries }: Conversation, { isOwn }: Pick<Rules, 'isOwn'>): Entry['message'] | undefined {
  return entries.findLast(({ message }) => !isOwn(message.envelope.from))?.message
}

/** The service gives whole seconds. Within a second, the times of the senders decide. */
function byTime(a: Entry, b: Entry): number {
  const seconds = a.message.created_at - b.message.created_at
  return seconds || tsOf(a) - tsOf(b) || (a.cursor ?? 0) - (b.cursor ?? 0)
}

function tsOf({ message }: Entry): number {
  return Date.parse(message.envelope.ts) || 0
}

function conversationOf({ key, root, entries, waiting }: Group, rules: Rules): Conversation {
  entries.sort(byTime)
  waiting.sort((a, b) => a.composedAtMs - b.composedAtMs)
  const requests = entries.filter(({ message }) => message.lane === 'requests' && !rules.isOwn(message.envelope.from))
  const unwanted = new Set(requests.filter((entry) => rules.isUnwanted(entry)))
  const newest = entries.at(-1)?.message
  // The peer is the sender of its newest message. If it has sent none, the peer is the recipient of the newest own message.
  const theirs = entries.findLast(({ message }) => !rules.isOwn(message.envelope.from))?.message.envelope.from
  const own = newest?.envelope ?? waiting.at(-1)?.envelope
  return {
    key,
    root,
    entries,
    waiting,
    peer: theirs ?? (own === undefined ? '' : peerOf(own, rules)),
    unread: entries.filter((entry) => {
      const { cursor, message } = entry
      // A message from this agent to itself never counts as unread.
      if (cursor === undefined || rules.isOwn(message.envelope.from)) return false
      return rules.isUnread(cursor) && !unwanted.has(entry)
    }).length,
    isRequest: requests.length > unwanted.size,
    isHidden: unwanted.size > 0 && unwanted.size === entries.length && waiting.length === 0,
    newestMs: Math.max((newest?.created_at ?? 0) * 1000, waiting.at(-1)?.composedAtMs ?? 0),
  }
}
