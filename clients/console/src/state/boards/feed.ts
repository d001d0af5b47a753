import { type ReadonlySignal, signal } from '@preact/signals'
import type { Message } from '@svc/contracts/resources.ts'
import type { AgentContext } from '../agent/context.ts'

/** A post and the posts of its thread, oldest first. */
export interface PostThread {
  readonly root: Message
  readonly replies: readonly Message[]
}

export interface Feed {
  /** Oldest first, as the service lists them. Undefined until the first page was read. */
  readonly posts: ReadonlySignal<readonly Message[] | undefined>
  readonly hasMore: ReadonlySignal<boolean>
  /** Reads further posts, up to a bound. */
  readMore(): Promise<void>
  add(post: Message): void
  change(postId: string, change: Partial<Message>): void
  remove(postId: string): void
}

const PAGE_SIZE = 100
/** Pages that are read at once. The service lists the oldest first, so a person waits for the newest. */
const PAGES = 10

export function createFeed({ client, ended }: AgentContext, boardId: string): Feed {
  const posts = signal<readonly Message[] | undefined>(undefined)
  const hasMore = signal(false)
  let after: string | undefined

  function add(fresh: readonly Message[]): void {
    const byId = new Map((posts.value ?? []).map((post) => [post.envelope.id, post]))
    for (const post of fresh) byId.set(post.envelope.id, post)
    posts.value = [...byId.values()]
  }

  return {
    posts,
    hasMore,
    async readMore() {
      let pages = 0
      const found: Message[] = []
      for await (const page of client.feed(boardId, { after, pageSize: PAGE_SIZE, signal: ended }).pages()) {
        found.push(...page.items)
        hasMore.value = page.next !== ''
        if (page.next !== '') after = page.next
        pages += 1
        if (pages === PAGES) break
      }
      add(found)
    },
    add: (post) => add([post]),
    change(postId, change) {
      posts.value = posts.value?.map((post) => (post.envelope.id === postId ? { ...post, ...change } : post))
    },
    remove(postId) {
      posts.value = posts.value?.filter(({ envelope }) => envelope.id !== postId)
    },
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
