import { type ReadonlySignal, signal } from '@preact/signals'
import type { Message } from '@svc/contracts/resources.ts'
import type { Contacts } from '../agent/contacts.ts'
import type { AgentContext } from '../agent/context.ts'

/** Requests that a person does not want to see. Their senders are not told, and the service does not know. */
export interface Ignored {
  readonly ids: ReadonlySignal<ReadonlySet<string>>
  load(): Promise<void>
  ignore(messageId: string): Promise<void>
}

const RECORD = 'ignored'
const MAX_IGNORED = 2_000

export function createIgnored({ store }: AgentContext): Ignored {
  const ids = signal<ReadonlySet<string>>(new Set())
  return {
    ids,
    async load() {
      ids.value = new Set(((await store.preferences.get(RECORD)) ?? []) as readonly string[])
    },
    async ignore(messageId) {
      ids.value = new Set([...ids.value, messageId].slice(-MAX_IGNORED))
      await store.preferences.put(RECORD, [...ids.value])
    },
  }
}

/** Whether a request is hidden: it is ignored, or its sender is blocked. */
export function isUnwanted({ envelope }: Message, shown: { ignored: Ignored; contacts: Contacts }): boolean {
  return shown.ignored.ids.value.has(envelope.id) || shown.contacts.stateOf(envelope.from) === 'blocked'
}
