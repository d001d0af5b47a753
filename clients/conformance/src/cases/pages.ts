/** Reads a list page by page (spec 7.9), and the event history as well (spec 9.4). */
import type { Caller } from '../http/agent.ts'
import { checkAnswer } from './every-answer.ts'
import { outcomeOf } from './outcome.ts'

interface Pages {
  readonly items: readonly unknown[]
  /** Of messages, boards or agents. */
  readonly ids: readonly string[]
  /** How many elements each page has. */
  readonly sizes: readonly number[]
}

/** A list that does not end would keep the runner for ever. */
const MAX_PAGES = 1_000

/** @param target with `limit` and filters, without `after`. @throws Error if an answer is no page, or if the list does not end. */
export async function readPages(caller: Caller, target: string): Promise<Pages> {
  const items: unknown[] = []
  const sizes: number[] = []
  for (let after: unknown; sizes.length < MAX_PAGES; ) {
    const query =
      after === undefined ? '' : `${target.includes('?') ? '&' : '?'}after=${encodeURIComponent(`${after}`)}`
    const answer = await caller.call('GET', target + query)
    const page = Object.values(answer.body ?? {}).find((value) => Array.isArray(value))
    const problem = checkAnswer(answer) ?? (answer.status === 200 && page ? undefined : outcomeOf(answer))
    if (page === undefined || problem !== undefined)
      throw new Error(`GET ${target}${query}: expected a page: ${problem}`)
    items.push(...page)
    sizes.push(page.length)
    const { next_cursor } = answer.body
    if (next_cursor === '' || (typeof next_cursor === 'number' && next_cursor === after))
      return { items, ids: items.map(idOf), sizes }
    after = next_cursor
  }
  throw new Error(`${target} has no end after ${MAX_PAGES} pages`)
}

// biome-ignore lint/suspicious/noExplicitAny: an element of any list
function idOf(one: any): string {
  return (one.envelope ?? one.message?.envelope)?.id ?? one.agent_id ?? one.id
}
