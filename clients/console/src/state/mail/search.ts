import type { People } from '../agent/people.ts'
import type { Entry } from './archive.ts'
import type { Conversation } from './conversations.ts'
import type { Texts } from './texts.ts'

export interface Filter {
  readonly text: string
  readonly unreadOnly: boolean
  readonly unackedOnly: boolean
}

export const NO_FILTER: Filter = { text: '', unreadOnly: false, unackedOnly: false }

export function isFiltering({ text, unreadOnly, unackedOnly }: Filter): boolean {
  return text.trim() !== '' || unreadOnly || unackedOnly
}

/** A conversation in a list, and the message of it that was searched for. */
export interface Row {
  readonly conversation: Conversation
  readonly found: Entry | undefined
}

interface Sources {
  readonly people: People
  readonly texts: Texts
}

/** Looks for names, ids and texts, in all that was read. */
export function filterConversations(
  conversations: readonly Conversation[],
  filter: Filter,
  sources: Sources,
): readonly Row[] {
  const wanted = filter.text.trim().toLocaleLowerCase()
  return conversations.flatMap((conversation) => {
    if (filter.unreadOnly && conversation.unread === 0) return []
    if (filter.unackedOnly && !conversation.entries.some(isUnacked)) return []
    if (wanted === '') return { conversation, found: undefined }
    const found = conversation.entries.findLast((entry) => isFound(entry, wanted, sources))
    const isPeer =
      found === undefined && namesOf(conversation.peer, sources.people).some((name) => name.includes(wanted))
    return found === undefined && !isPeer ? [] : { conversation, found }
  })
}

function isUnacked({ cursor, message }: Entry): boolean {
  return cursor !== undefined && !message.acked
}

function isFound(entry: Entry, wanted: string, { texts, people }: Sources): boolean {
  if (texts.searchable(entry).includes(wanted)) return true
  const { id, from } = entry.message.envelope
  return id.toLowerCase().includes(wanted) || namesOf(from, people).some((name) => name.includes(wanted))
}

function namesOf(who: string, people: People): string[] {
  const person = people.find(who)
  return [who, person?.name ?? '', person?.agentId ?? ''].map((text) => text.toLowerCase())
}
