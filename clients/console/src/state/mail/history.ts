/**
 * Reads the whole history of an agent in the background, newest first, and keeps it encrypted in this browser. So the next
 * session shows and searches it at once, also without a network, and asks the service only for what is new.
 *
 * Received messages are kept in windows of 100 cursors. After the log has passed a window, only expiry changes it. Own messages make no events, so they come from the export, whose cursors do not expire.
 */
import { type ReadonlySignal, signal } from '@preact/signals'
import type { Event } from '@svc/contracts/resources.ts'
import { AnswerError, ApiError, NetworkError } from '@svc/sdk/errors.ts'
import type { AgentContext } from '../agent/context.ts'
import type { People } from '../agent/people.ts'
import { isAbort } from '../failures.ts'
import type { Health } from '../health.ts'
import type { Archive, Entry, PostMark } from './archive.ts'
import { idle, pauseOf } from './pause.ts'
import type { Unread } from './unread.ts'

/** How much of the history was read. */
interface Progress {
  /** Whether all received and sent messages were read. */
  readonly isComplete: boolean
  /** Whether older messages are left out, because there are more than the page shows. */
  readonly isCut: boolean
  /** Every event from this cursor on was read. */
  readonly from: number
  readonly latest: number
}

interface KeptWindow {
  readonly entries: readonly Entry[]
  readonly posts: readonly PostMark[]
}

interface KeptState {
  /** The export was read to here. */
  readonly ownAfter: string | undefined
  /** Every event up to this cursor was kept, in windows or in the newest part. */
  readonly latest: number
}

interface Kept {
  readonly state: KeptState | undefined
  readonly windows: readonly { readonly id: string; readonly value: KeptWindow }[]
}

const WINDOW = 100
/** Messages beyond this are neither shown nor searched, so that the page does not fill the memory. */
const MAX_ENTRIES = 20_000
/** Messages that are read before the list is shown. */
const FIRST = 100
const EVENTS = 'events/'
const STATE = 'state'
const NEWEST = 'newest'
const LAST_OWN = 'own/last'
const KEEP_AFTER_MS = 3_000

/** The number of the window that has a cursor. */
const windowOf = (cursor: number): number => Math.floor((cursor - 1) / WINDOW)
const firstOf = (window: number): number => window * WINDOW + 1
const lastOf = (window: number): number => (window + 1) * WINDOW
const idOf = (window: number): string => EVENTS + window

interface Parts {
  readonly archive: Archive
  readonly people: People
  readonly unread: Unread
  readonly health: Pick<Health, 'unlessFailing'>
}

export class History {
  readonly #context: AgentContext
  readonly #health: Parts['health']
  readonly #archive: Archive
  readonly #people: People
  readonly #unread: Unread
  readonly #kept = new Set<number>()
  readonly #progress = signal<Progress>({ isComplete: false, isCut: false, from: 1, latest: 0 })
  readonly progress: ReadonlySignal<Progress> = this.#progress
  #earliest = 1
  #ownAfter: string | undefined
  #keeping: ReturnType<typeof setTimeout> | undefined

  constructor(context: AgentContext, parts: Parts) {
    this.#context = context
    this.#health = parts.health
    this.#archive = parts.archive
    this.#people = parts.people
    this.#unread = parts.unread
  }

  /**
   * Shows what is kept, and finds the end of the log. If the service cannot be reached, the newest kept cursor is the end.
   * @returns the cursor after which events must be followed. @throws the error of the call if nothing is kept.
   */
  async open(): Promise<number> {
    const kept = await this.#readKept()
    const { client, ended: signal, store } = this.#context
    try {
      const end = client.events({ after: Number.MAX_SAFE_INTEGER, pageSize: 1, signal }).page()
      const { latest = 0, earliest = 1 } = await this.#health.unlessFailing(end)
      this.#earliest = earliest
      // The service was restored from a backup, so other messages may have these cursors now.
      if ((kept.state?.latest ?? 0) > latest) for (const { id } of kept.windows) await store.history.delete(id)
      else this.#restore(kept)
      this.#progress.value = { isComplete: false, isCut: false, from: latest + 1, latest }
    } catch (error) {
      if (kept.state === undefined || !isUnreachable(error)) throw error
      this.#restore(kept)
      const { latest } = kept.state
      this.#progress.value = { isComplete: false, isCut: false, from: latest + 1, latest }
    }
    return this.#progress.value.latest
  }

  /** Reads until there is enough to show. */
  async readNewest(): Promise<void> {
    while (!this.#hasAllEvents() && this.#archive.entries.value.length < FIRST) await this.#readWindow()
  }

  /** Reads everything. Waits and goes on if the service cannot be reached. Returns when the agent is closed. */
  async readAll(): Promise<void> {
    const { ended } = this.#context
    for (let failures = 0; !ended.aborted; ) {
      try {
        while (!this.#hasAllEvents()) {
          await this.#readWindow()
          await idle()
        }
        await this.#readOwn()
        const isCut = this.#progress.value.from > this.#earliest
        this.#progress.value = { ...this.#progress.value, isComplete: true, isCut }
        return
      } catch (error) {
        if (isAbort(error) || !isUnreachable(error)) return
        failures += 1
        await pauseOf(failures, ended)
      }
    }
  }

  /** Whether the count of unread messages is final. */
  get knowsUnread(): boolean {
    return this.#hasAllEvents() || this.#progress.value.from <= this.#unread.place.value.upTo + 1
  }

  /** Every event up to this cursor is in the archive. Call it for each that arrives. */
  reach(cursor: number): void {
    const { latest, from } = this.#progress.value
    if (cursor <= latest) return
    this.#progress.value = { ...this.#progress.value, latest: cursor }
    this.#pass(latest + 1, cursor)
    for (let window = windowOf(latest + 1); lastOf(window) <= cursor; window += 1)
      if (firstOf(window) >= from) void this.#keep(window)
    this.#keepSoon()
  }

  #hasAllEvents(): boolean {
    return this.#progress.value.from <= this.#earliest || this.#archive.entries.value.length >= MAX_ENTRIES
  }

  async #readKept(): Promise<Kept> {
    const records = await this.#context.store.history.list()
    const state = records.find(({ id }) => id === STATE)?.value as KeptState | undefined
    const windows = records.filter(({ id }) => id !== STATE) as Kept['windows']
    return { state, windows }
  }

  #restore({ state, windows }: Kept): void {
    const now = Date.now() / 1000
    const entries = windows.flatMap(({ value }) => value.entries.filter(({ message }) => message.expires_at > now))
    this.#archive.restore(
      entries,
      windows.flatMap(({ value }) => value.posts),
    )
    for (const { id } of windows) if (id.startsWith(EVENTS)) this.#kept.add(Number(id.slice(EVENTS.length)))
    this.#ownAfter = state?.ownAfter
  }

  /** Reads the next older window, or takes the kept one. */
  async #readWindow(): Promise<void> {
    const { from, latest } = this.#progress.value
    const window = windowOf(from - 1)
    const [first, last] = [Math.max(firstOf(window), this.#earliest), from - 1]
    if (!this.#kept.has(window)) {
      const events = await this.#readEvents(first, last)
      this.#archive.add(events, (from) => this.#people.isOwn(from))
    }
    this.#pass(first, last)
    this.#progress.value = { ...this.#progress.value, from: firstOf(window) }
    if (!this.#kept.has(window) && lastOf(window) <= latest && firstOf(window) >= this.#earliest) {
      await this.#keep(window)
    }
  }

  async #readEvents(first: number, last: number): Promise<Event[]> {
    const { client, ended: signal } = this.#context
    const found: Event[] = []
    for await (const { items, next } of client.events({ after: first - 1, pageSize: WINDOW, signal }).pages()) {
      found.push(...items.filter(({ cursor }) => cursor <= last))
      if (next >= last) break
    }
    return found
  }

  /** A cursor without a message or post has nothing to read, so it is marked as read. */
  #pass(first: number, last: number): void {
    const { entries, posts } = this.#archive.between(first, last)
    const present = new Set([...entries, ...posts].map(({ cursor }) => cursor))
    const absent: number[] = []
    const start = Math.max(first, this.#unread.place.value.upTo + 1)
    for (let cursor = start; cursor <= last; cursor += 1) if (!present.has(cursor)) absent.push(cursor)
    this.#unread.markRead(absent)
  }

  async #keep(window: number): Promise<void> {
    this.#kept.add(window)
    await this.#store(idOf(window), this.#archive.between(firstOf(window), lastOf(window)))
  }

  #keepSoon(): void {
    this.#keeping ??= setTimeout(() => {
      this.#keeping = undefined
      void this.#keepNewest()
    }, KEEP_AFTER_MS)
  }

  /** The part of the log after the last whole window. */
  async #keepNewest(): Promise<void> {
    const { latest } = this.#progress.value
    await this.#store(NEWEST, this.#archive.between(firstOf(windowOf(latest + 1)), latest))
    await this.#store(STATE, { latest, ownAfter: this.#ownAfter } satisfies KeptState)
  }

  async #readOwn(): Promise<void> {
    const { client, ended: signal } = this.#context
    const pages = client.export({ after: this.#ownAfter, pageSize: WINDOW, signal }).pages()
    for await (const { items, next } of pages) {
      const own = items.filter(({ envelope }) => this.#people.isOwn(envelope.from))
      this.#archive.addMessages(own)
      const entries = own.flatMap(({ envelope }) => this.#archive.find(envelope.id) ?? [])
      const isLast = next === ''
      // The last page is read again in the next session, because the list goes on there.
      if (entries.length > 0) await this.#store(isLast ? LAST_OWN : `own/${next}`, { entries, posts: [] })
      if (!isLast) this.#ownAfter = next
      await idle()
    }
    await this.#keepNewest()
  }

  /** What cannot be kept is read again in the next session. */
  async #store(id: string, value: KeptWindow | KeptState): Promise<void> {
    await this.#context.store.history.put(id, value).catch(() => undefined)
  }
}

/** Whether the service could not be reached, or cannot answer now. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof NetworkError || error instanceof AnswerError) return true
  return error instanceof ApiError && (error.status >= 500 || error.status === 429)
}
