import { type ReadonlySignal, signal } from '@preact/signals'
import type { Message } from '@svc/contracts/resources.ts'
import type { Contacts } from '../agent/contacts.ts'
import type { AgentContext } from '../agent/context.ts'

const RECORD = 'ignored'
const MAX_IGNORED = 2_000

/** Requests that a person does not want to see. Their senders are not told, and the service does not know. */
export class Ignored {
  readonly #context: AgentContext
  readonly #ids = signal<ReadonlySet<string>>(new Set())
  readonly ids: ReadonlySignal<ReadonlySet<string>> = this.#ids

  constructor(context: AgentContext) {
    this.#context = context
  }

  async load(): Promise<void> {
    this.#ids.value = new Set(((await this.#context.store.preferences.get(RECORD)) ?? []) as readonly string[])
  }

  async ignore(messageId: string): Promise<void> {
    this.#ids.value = new Set([...this.#ids.value, messageId].slice(-MAX_IGNORED))
    await this.#context.store.preferences.put(RECORD, [...this.#ids.value])
  }
}

/** Whether a request is hidden: it is ignored, or its sender is blocked. */
export function isUnwanted({ envelope }: Message, shown: { ignored: Ignored; contacts: Contacts }): boolean {
  return shown.ignored.ids.value.has(envelope.id) || shown.contacts.stateOf(envelope.from) === 'blocked'
}
