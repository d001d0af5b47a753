import { expect, test } from 'vitest'
import type { AgentContext } from '../agent/context.ts'
import { Drafts } from './drafts.ts'

/** A storage whose writes end when a test says so. */
function createSlowStore() {
  const stored = new Map<string, { text: string }>()
  const waiting: (() => void)[] = []
  const later = (act: () => void): Promise<void> =>
    new Promise((resolve) => {
      waiting.push(() => {
        act()
        resolve()
      })
    })
  return {
    stored,
    async endAll(): Promise<void> {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        next()
        await new Promise((resolve) => setTimeout(resolve))
      }
    },
    records: {
      put: (id: string, value: { text: string }) => later(() => stored.set(id, value)),
      delete: (id: string) => later(() => stored.delete(id)),
    },
  }
}

test.each([
  { why: 'one text', texts: ['a'], kept: 'a' },
  { why: 'many texts while the first is being written', texts: ['a', 'ab', 'abc'], kept: 'abc' },
  { why: 'a text that was emptied again', texts: ['a', ''], kept: undefined },
  { why: 'a text that came back', texts: ['a', '', 'b'], kept: 'b' },
])('$why: the newest state is kept, whichever write ends first', async ({ texts, kept }) => {
  const store = createSlowStore()
  const drafts = new Drafts({ store: { drafts: store.records } } as unknown as AgentContext)
  const draft = drafts.create({ to: 'bob' })
  for (const text of texts) drafts.save({ ...draft, text })
  await store.endAll()
  expect(store.stored.get(draft.id)?.text).toBe(kept)
})

test('a discarded draft is deleted', async () => {
  const store = createSlowStore()
  const drafts = new Drafts({ store: { drafts: store.records } } as unknown as AgentContext)
  const draft = drafts.create({ to: 'bob' })
  drafts.save({ ...draft, text: 'a' })
  await store.endAll()
  drafts.discard(draft.id)
  await store.endAll()
  expect(store.stored.size).toBe(0)
})
