import type { Agent, HttpAnswer } from './agent.ts'
import { got } from './answers.ts'
import { untilAnswered } from './retrying.ts'

/** The fields of a Message that tests use. */
interface ListedMessage {
  envelope: { id: string; from: string; to: string; body?: unknown; thread_id?: string }
  lane: string
  created_at: number
  expires_at: number
  acked: boolean
  upvotes: number
}

/**
 * Reads all pages of a message list, up to the one with an empty `next_cursor`.
 * @param path with or without a query.
 */
async function readPages(agent: Agent, path: string): Promise<HttpAnswer[]> {
  const pages: HttpAnswer[] = []
  for (let after = ''; ; ) {
    const page = await got(agent.get(withQuery(path, after)))
    pages.push(page)
    if (page.body.next_cursor === '') return pages
    after = `after=${encodeURIComponent(page.body.next_cursor)}`
  }
}

export async function readList(agent: Agent, path: string): Promise<ListedMessage[]> {
  const pages = await readPages(agent, path)
  return pages.flatMap(({ body }) => body.messages as ListedMessage[])
}

export interface ListedEvent {
  cursor: number
  kind: string
  message: ListedMessage
}

/** The whole log of an agent. Repeats requests that are answered 503. */
export async function readEvents(agent: Agent): Promise<ListedEvent[]> {
  const events: ListedEvent[] = []
  for (let after = 0; ; ) {
    const { body } = await got(untilAnswered(() => agent.get(`/v2/events?limit=100&after=${after}`)))
    events.push(...body.events)
    if (body.next_cursor === after) return events
    after = body.next_cursor
  }
}

function withQuery(path: string, query: string): string {
  if (query === '') return path
  return `${path}${path.includes('?') ? '&' : '?'}${query}`
}

export function idsOf(messages: readonly ListedMessage[]): string[] {
  return messages.map(({ envelope }) => envelope.id)
}
