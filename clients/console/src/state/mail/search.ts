import type { JsonValue } from '@svc/envelope/json-value.ts'
import type { People } from '../agent/people.ts'
import type { Entry } from './mailbox.ts'
import type { Opener } from './opening.ts'

export interface Filter {
  readonly text: string
  readonly unreadOnly: boolean
  readonly unackedOnly: boolean
}

export const NO_FILTER: Filter = { text: '', unreadOnly: false, unackedOnly: false }

export function isFiltering({ text, unreadOnly, unackedOnly }: Filter): boolean {
  return text.trim() !== '' || unreadOnly || unackedOnly
}

interface Sources {
  readonly people: People
  readonly opener: Opener
  readonly isUnread: (cursor: number) => boolean
}

/** Searches what is loaded: names, ids, and the bodies that are readable or were opened. */
export function filterEntries(entries: readonly Entry[], filter: Filter, sources: Sources): readonly Entry[] {
  if (!isFiltering(filter)) return entries
  const wanted = filter.text.trim().toLocaleLowerCase()
  return entries.filter(({ cursor, message }) => {
    if (filter.unreadOnly && !sources.isUnread(cursor)) return false
    if (filter.unackedOnly && message.acked) return false
    if (wanted === '') return true
    const { id, from } = message.envelope
    const person = sources.people.find(from)
    const opened = sources.opener.peek(message, 'mail')
    const body = opened?.kind === 'open' ? opened.body : bodyOf(message.envelope)
    return [person?.name ?? '', person?.agentId ?? '', from, id, textOf(body)].some((text) =>
      text.toLocaleLowerCase().includes(wanted),
    )
  })
}

function bodyOf(envelope: Entry['message']['envelope']): JsonValue | undefined {
  return 'body' in envelope ? (envelope.body as JsonValue) : undefined
}

/** Returns a text as it is, and any other value as JSON. */
export function textOf(body: JsonValue | undefined): string {
  if (body === undefined) return ''
  return typeof body === 'string' ? body : JSON.stringify(body)
}
