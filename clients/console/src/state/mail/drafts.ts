import { type ReadonlySignal, signal } from '@preact/signals'
import type { KeptDraft } from '../../vault/agent-store.ts'
import type { AgentContext } from '../agent/context.ts'
import { inBackground } from '../failures.ts'

/** A message that is being written. Kept, encrypted, until it is sent or discarded. */
export interface Draft extends KeptDraft {
  readonly id: string
}

export class Drafts {
  readonly #context: AgentContext
  readonly #writing = new Set<string>()
  readonly #all = signal<readonly Draft[]>([])
  /** Newest first. */
  readonly all: ReadonlySignal<readonly Draft[]> = this.#all

  constructor(context: AgentContext) {
    this.#context = context
  }

  async load(): Promise<void> {
    const kept = (await this.#context.store.drafts.list()).map(({ id, value }) => ({ ...value, id }))
    this.#all.value = kept.sort((a, b) => b.changedAtMs - a.changedAtMs)
  }

  find(id: string): Draft | undefined {
    return this.#all.value.find((draft) => draft.id === id)
  }

  create(fields: Partial<KeptDraft> = {}): Draft {
    const empty = { to: '', text: '', isJson: false, isSealed: true }
    return { ...empty, ...fields, id: crypto.randomUUID(), changedAtMs: Date.now() }
  }

  /** Stores a draft. An empty one is deleted. */
  save(draft: Draft): void {
    if (draft.text.trim() === '') {
      this.discard(draft.id)
      return
    }
    const { id, ...kept } = { ...draft, changedAtMs: Date.now() }
    this.#all.value = [{ ...kept, id }, ...this.#without(id)]
    inBackground(this.#write(id))
  }

  discard(id: string): void {
    if (this.find(id) === undefined) return
    this.#all.value = this.#without(id)
    inBackground(this.#write(id))
  }

  /** Writes the newest state. What changes meanwhile is written after it, so that an older state never comes last. */
  async #write(id: string): Promise<void> {
    if (this.#writing.has(id)) return
    this.#writing.add(id)
    try {
      for (let written: Draft | 'nothing' | undefined = 'nothing'; ; ) {
        const draft = this.find(id)
        if (draft === written) return
        if (draft === undefined) await this.#context.store.drafts.delete(id)
        else await this.#context.store.drafts.put(id, draft)
        written = draft
      }
    } finally {
      this.#writing.delete(id)
    }
  }

  #without(id: string): readonly Draft[] {
    return this.#all.value.filter((draft) => draft.id !== id)
  }
}
