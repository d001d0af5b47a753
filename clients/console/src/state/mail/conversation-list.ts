import { computed, type ReadonlySignal } from '@preact/signals'
import type { Contacts } from '../agent/contacts.ts'
import type { People } from '../agent/people.ts'
import type { Archive } from './archive.ts'
import { type Conversation, groupConversations } from './conversations.ts'
import { type Ignored, isUnwanted } from './ignored.ts'
import type { Outbox } from './outbox.ts'
import { isUnread, type Unread } from './unread.ts'

interface Parts {
  readonly archive: Archive
  readonly people: People
  readonly contacts: Contacts
  readonly ignored: Ignored
  readonly outbox: Outbox
  readonly unread: Unread
}

/** The conversations of an agent, newest first. */
export class ConversationList {
  readonly all: ReadonlySignal<readonly Conversation[]>
  readonly inbox: ReadonlySignal<readonly Conversation[]> = computed(() =>
    this.all.value.filter(({ isRequest, isHidden }) => !isRequest && !isHidden),
  )
  readonly requests: ReadonlySignal<readonly Conversation[]> = computed(() =>
    this.all.value.filter(({ isRequest }) => isRequest),
  )
  /** Requests that are ignored, or of blocked agents. */
  readonly hidden: ReadonlySignal<readonly Conversation[]> = computed(() =>
    this.all.value.filter(({ isHidden, isRequest }) => isHidden && !isRequest),
  )
  /** Unread messages by page. */
  readonly unread = computed(() => ({ inbox: sum(this.inbox.value), requests: sum(this.requests.value) }))
  readonly #byMessage = computed(() => {
    const found = new Map<string, Conversation>()
    for (const conversation of this.all.value) {
      for (const { message } of conversation.entries) found.set(message.envelope.id, conversation)
      for (const { envelope } of conversation.waiting) found.set(envelope.id, conversation)
    }
    return found
  })

  constructor({ archive, people, contacts, ignored, outbox, unread }: Parts) {
    this.all = computed(() => {
      const place = unread.place.value
      return groupConversations(archive.entries.value, [...outbox.pending.value.values()], {
        isOwn: (from) => people.isOwn(from),
        nameOf: (who) => people.keyOf(who),
        isUnread: (cursor) => isUnread(place, cursor),
        isUnwanted: ({ message }) => isUnwanted(message, { ignored, contacts }),
      })
    })
  }

  /** The conversation of a message. */
  withMessage(id: string): Conversation | undefined {
    return this.#byMessage.value.get(id)
  }
}

function sum(conversations: readonly Conversation[]): number {
  return conversations.reduce((total, { unread }) => total + unread, 0)
}
