import { type ReadonlySignal, signal } from '@preact/signals'
import type { Message } from '@svc/contracts/resources.ts'
import type { AgentContext } from '../agent/context.ts'
import { inPassing } from '../failures.ts'

/** A post and the posts of its thread, oldest first. */
interface PostThread {
  readonly root: Message
  readonly replies: readonly Message[]
}

interface FeedPage {
  readonly posts: readonly Message[]
  /** Where the next page begins. Empty at the end of the board. */
  readonly next: string
}

const PAGE_SIZE = 100
/** Pages that are read at once. The service lists the oldest first, so a person waits for the newest. */
const PAGES = 10
/** Pages at the end that are read again for votes, and for posts that were hidden. */
const REPEATED = 2

/** The posts of a board. Nothing announces votes, and only subscribers hear of posts, so the end of the feed is read again. */
export class Feed {
  readonly #context: Pick<AgentContext, 'client' | 'ended'>
  readonly #boardId: string
  readonly #pages = signal<readonly FeedPage[]>([])
  readonly #posts = signal<readonly Message[] | undefined>(undefined)
  readonly #hasMore = signal(false)
  #running: Promise<void> | undefined
  #waiting: Promise<void> | undefined
  #changes = 0
  #underWay = 0
  /** Oldest first, as the service lists them. Undefined until the first page was read. */
  readonly posts: ReadonlySignal<readonly Message[] | undefined> = this.#posts
  readonly hasMore: ReadonlySignal<boolean> = this.#hasMore

  constructor(context: Pick<AgentContext, 'client' | 'ended'>, boardId: string) {
    this.#context = context
    this.#boardId = boardId
  }

  /** Reads further posts, up to a bound. */
  async readMore(): Promise<void> {
    await this.#running?.catch(() => undefined)
    await this.#start(PAGES)
  }

  /** Reads the last two pages again, and the page after them. A call during a read waits, and then reads again. */
  refresh(): Promise<void> {
    const running = this.#running
    if (running === undefined) return this.#start(REPEATED + 1)
    this.#waiting ??= running
      .catch(() => undefined)
      .then(() => {
        this.#waiting = undefined
        return this.refresh()
      })
    return this.#waiting
  }

  /** Puts a restored post back at its old place. */
  add(post: Message): void {
    const pages = this.#pages.value
    const at = pages.findIndex(({ posts }) => (posts.at(-1)?.created_at ?? 0) >= post.created_at)
    const page = at === -1 ? pages.length - 1 : at
    this.#change(({ posts, next }, index) => {
      if (index !== page) return { posts, next }
      const others = posts.filter(({ envelope }) => envelope.id !== post.envelope.id)
      return { posts: [...others, post].sort((a, b) => a.created_at - b.created_at), next }
    })
  }

  remove(postId: string): void {
    this.#change(({ posts, next }) => ({ posts: posts.filter(({ envelope }) => envelope.id !== postId), next }))
  }

  /** Counts a vote at once, and takes it back if the task fails. */
  async countWhile(postId: string, by: number, task: () => Promise<void>): Promise<void> {
    this.#count(postId, by)
    this.#underWay += 1
    try {
      await task()
    } catch (error) {
      this.#count(postId, -by)
      throw error
    } finally {
      this.#underWay -= 1
      inPassing(this.refresh())
    }
  }

  #start(maxPages: number): Promise<void> {
    this.#running = this.#read(maxPages).finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #read(maxPages: number): Promise<void> {
    const { client, ended: signal } = this.#context
    const before = this.#changes
    const kept = this.#pages.value.slice(0, -REPEATED)
    const fresh: FeedPage[] = []
    const options = { after: kept.at(-1)?.next, pageSize: PAGE_SIZE, signal }
    for await (const { items, next } of client.feed(this.#boardId, options).pages()) {
      fresh.push({ posts: items, next })
      if (fresh.length === maxPages) break
    }
    // The result may be older than a local change, so it is dropped. While a vote is under way, its end starts the next read.
    if (this.#underWay > 0) return
    if (before !== this.#changes) return this.#read(maxPages)
    this.#show([...kept, ...fresh])
  }

  #count(postId: string, by: number): void {
    this.#change(({ posts, next }) => ({
      posts: posts.map((post) => (post.envelope.id === postId ? { ...post, upvotes: post.upvotes + by } : post)),
      next,
    }))
  }

  #change(change: (page: FeedPage, index: number) => FeedPage): void {
    this.#changes += 1
    this.#show(this.#pages.value.map(change))
  }

  /** Only votes change a post, so a post without new votes stays the same object and is not drawn again. */
  #show(pages: readonly FeedPage[]): void {
    const known = new Map((this.#posts.value ?? []).map((post) => [post.envelope.id, post]))
    const posts = pages.flatMap((page) =>
      page.posts.map((post) => {
        const old = known.get(post.envelope.id)
        return old?.upvotes === post.upvotes ? old : post
      }),
    )
    this.#pages.value = pages
    this.#hasMore.value = (pages.at(-1)?.next ?? '') !== ''
    const shown = this.#posts.value
    if (shown?.length !== posts.length || posts.some((post, index) => post !== shown[index])) this.#posts.value = posts
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
