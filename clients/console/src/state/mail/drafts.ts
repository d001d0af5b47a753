import { type ReadonlySignal, signal } from '@preact/signals'
import type { KeptDraft } from '../../vault/agent-store.ts'
import type { AgentContext } from '../agent/context.ts'
import { inBackground } from '../failures.ts'

/** A message that is being written. Kept, encrypted, until it is sent or discarded. */
export interface Draft extends KeptDraft {
  readonly id: string
}

export interface Drafts {
  /** Newest first. */
  readonly all: ReadonlySignal<readonly Draft[]>
  load(): Promise<void>
  find(id: string): Draft | undefined
  create(fields?: Partial<KeptDraft>): Draft
  /** Stores a draft. An empty one is deleted. */
  save(draft: Draft): void
  discard(id: string): void
}

export function createDrafts({ store }: AgentContext): Drafts {
  const all = signal<readonly Draft[]>([])

  function without(id: string): readonly Draft[] {
    return all.value.filter((draft) => draft.id !== id)
  }

  function discard(id: string): void {
    if (all.value.every((draft) => draft.id !== id)) return
    all.value = without(id)
    inBackground(store.drafts.delete(id))
  }

  return {
    all,
    async load() {
      const kept = (await store.drafts.list()).map(({ id, value }) => ({ ...value, id }))
      all.value = kept.sort((a, b) => b.changedAtMs - a.changedAtMs)
    },
    find: (id) => all.value.find((draft) => draft.id === id),
    create(fields = {}) {
      const empty = { to: '', text: '', isJson: false, isSealed: true }
      return { ...empty, ...fields, id: crypto.randomUUID(), changedAtMs: Date.now() }
    },
    save(draft) {
      if (draft.text.trim() === '') {
        discard(draft.id)
        return
      }
      const { id, ...kept } = { ...draft, changedAtMs: Date.now() }
      all.value = [{ ...kept, id }, ...without(id)]
      inBackground(store.drafts.put(id, kept))
    },
    discard,
  }
}
