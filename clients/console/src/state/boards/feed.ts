import { type ReadonlySignal, signal } from '@preact/signals'
import type { Message } from '@svc/contracts/resources.ts'
import type { AgentContext } from '../agent/context.ts'

/** A post and the posts of its thread, oldest first. */
export interface PostThread {
  readonly root: Message
  readonly replies: readonly Message[]
}

const PAGE_SIZE = 100
/** Pages that are read at once. The service lists the oldest first, so a person waits for the newest. */
const PAGES = 10

export class Feed {
  readonly #context: AgentContext
  readonly #boardId: string
  readonly #posts = signal<readonly Message[] | undefined>(undefined)
  readonly #hasMore = signal(false)
  #after: string | undefined
  /** Oldest first, as the service lists them. Undefined until the first page was read. */
  readonly posts: ReadonlySignal<readonly Message[] | undefined> = this.#posts
  readonly hasMore: ReadonlySignal<boolean> = this.#hasMore

  constructor(context: AgentContext, boardId: string) {
    this.#context = context
    this.#boardId = boardId
  }

  /** Reads further posts, up to a bound. */
  async readMore(): Promise<void> {
    const { client, ended: signal } = this.#context
    let pages = 0
    const found: Message[] = []
    const options = { after: this.#after, pageSize: PAGE_SIZE, signal }
    for await (const page of client.feed(this.#boardId, options).pages()) {
      found.push(...page.items)
      this.#hasMore.value = page.next !== ''
      if (page.next !== '') this.#after = page.next
      pages += 1
      if (pages === PAGES) break
    }
    this.#put(found)
  }

  add(post: Message): void {
    this.#put([post])
  }

  change(postId: string, change: Partial<Message>): void {
    this.#posts.value = this.#posts.value?.map((post) => (post.envelope.id === postId ? { ...post, ...change } : post))
  }

  remove(postId: string): void {
    this.#posts.value = this.#posts.value?.filter(({ envelope }) => envelope.id !== postId)
  }

  #put(fresh: readonly Message[]): void {
    const byId = new Map((this.#posts.value ?? []).map((post) => [post.envelope.id, post]))
    for (const post of fresh) byId.set(post.envelope.id, post)
    this.#posts.value = [...byId.values()]
  }
}

/** Groups posts by thread, newest thread first. A reply whose root is missing becomes a thread of its own. */
export function threadsOf(posts: readonly Message[]): readonly PostThread[] {
  const ids = new Set(posts.map(({ envelope }) => envelope.id))
  const threads = new Map<string, { root: Message; replies: Message[] }>()
  for (const post of posts) {
    const { id, thread_id } = post.envelope
    if (thread_id === undefined || !ids.has(thread_id)) threads.set(id, { root: post, replies: [] })
  }
  for (const post of posts) {
    const { thread_id } = post.envelope
    if (thread_id !== undefined) threads.get(thread_id)?.replies.push(post)
  }
  return [...threads.values()].reverse()
}
