import { join } from 'node:path'
import type { Message } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { StoreError } from '@svc/sdk/errors.ts'
import { writeDurably } from '@svc/sdk/store/durable-file.ts'
import type { Cipher } from '../store/cipher.ts'
import { readIfThere } from '../store/files.ts'
import { type Reader, textOf } from './read.ts'

interface Entry {
  readonly id: string
  /** Unix seconds. */
  readonly at: number
  readonly expiresAt: number
  /** The beginning of the text, in lower case. */
  readonly text: string
}

interface Content {
  /** Cursor in the export: sent and received messages, and this agent's posts. */
  readonly exported: string | undefined
  /** Cursor in the events: posts of others. */
  readonly events: number
  readonly entries: readonly Entry[]
}

const FILE = 'search'
const PAGE_SIZE = 100
/** Pages of each list that one call reads. */
const MAX_PAGES = 20
/** Beyond this number the oldest entries are dropped. */
const MAX_ENTRIES = 20_000
const MAX_TEXT = 4_000
/** The most characters of all texts. The file is written as a whole and held in memory. */
const MAX_CHARACTERS = 8_000_000
const EMPTY: Content = { exported: undefined, events: 0, entries: [] }

/**
 * The search index: a cache of all text that this agent can read, in one encrypted file, with the cursors up to which the
 * service was read. Several processes may replace the file. The last one wins, and reads missing messages again.
 */
export class SearchIndex {
  readonly #client: AgentClient
  readonly #reader: Reader
  readonly #cipher: Cipher
  readonly #path: string
  #content: Content | undefined

  constructor({ client, reader, cipher }: { client: AgentClient; reader: Reader; cipher: Cipher }, folder: string) {
    this.#client = client
    this.#reader = reader
    this.#cipher = cipher
    this.#path = join(folder, FILE)
  }

  /** Reads new messages. @returns false if there are more than one call reads. */
  async catchUp(signal: AbortSignal): Promise<boolean> {
    const before = this.#load()
    const found = new Map<string, Entry>()
    const exported = await this.#readExport(before.exported, found, signal)
    const events = await this.#readPosts(before.events, found, signal)
    const now = Math.floor(Date.now() / 1000)
    const kept = before.entries.filter(({ id, expiresAt }) => !found.has(id) && expiresAt > now)
    const entries = withinBounds([...kept, ...found.values()].sort((a, b) => b.at - a.at || (a.id < b.id ? -1 : 1)))
    this.#content = { exported: exported.cursor, events: events.cursor, entries }
    // The last page was already read, so it often contains nothing new.
    const isNew =
      exported.cursor !== before.exported || events.cursor !== before.events || entries.length !== before.entries.length
    if (isNew) this.#write(this.#content)
    return exported.isDone && events.isDone
  }

  /** Ids of messages that contain every word of the query, newest first, and the cursor of the next page. */
  search(query: string, limit: number, cursor: string | undefined): { ids: string[]; next: string | undefined } {
    const words = query
      .toLowerCase()
      .split(/\s+/u)
      .filter((word) => word !== '')
    const { entries } = this.#load()
    const start = cursor === undefined ? 0 : entries.findIndex(({ id }) => id === cursor) + 1
    const ids: string[] = []
    for (const { id, text } of entries.slice(start)) {
      if (!words.every((word) => text.includes(word))) continue
      if (ids.length === limit) return { ids, next: ids.at(-1) }
      ids.push(id)
    }
    return { ids, next: undefined }
  }

  /** Reads sent and received messages and this agent's posts. */
  async #readExport(
    after: string | undefined,
    found: Map<string, Entry>,
    signal: AbortSignal,
  ): Promise<{ cursor: string | undefined; isDone: boolean }> {
    let cursor = after
    let pages = 0
    for await (const { items, next } of this.#client.export({ after, pageSize: PAGE_SIZE, signal }).pages()) {
      for (const message of items) await this.#add(message, found, signal)
      // The last page has no next cursor, so it is read again the next time (spec 13.4).
      if (next === '') return { cursor, isDone: true }
      cursor = next
      pages += 1
      if (pages === MAX_PAGES) break
    }
    return { cursor, isDone: false }
  }

  /** Reads posts of others. */
  async #readPosts(
    after: number,
    found: Map<string, Entry>,
    signal: AbortSignal,
  ): Promise<{ cursor: number; isDone: boolean }> {
    let cursor = after
    let pages = 0
    for await (const { items, next } of this.#client.events({ after, pageSize: PAGE_SIZE, signal }).pages()) {
      for (const { kind, message } of items) if (kind === 'board') await this.#add(message, found, signal)
      if (next === cursor) return { cursor, isDone: true }
      cursor = next
      pages += 1
      if (pages === MAX_PAGES) break
    }
    return { cursor, isDone: false }
  }

  async #add(message: Message, found: Map<string, Entry>, signal: AbortSignal): Promise<void> {
    const { body } = await this.#reader.read(message, signal)
    if (body === undefined) return
    const { envelope, created_at: at, expires_at: expiresAt } = message
    const { id } = envelope
    found.set(id, { id, at, expiresAt, text: textOf(body).slice(0, MAX_TEXT).toLowerCase() })
  }

  #load(): Content {
    if (this.#content !== undefined) return this.#content
    const file = readIfThere(this.#path)
    const text = file === undefined ? undefined : this.#cipher.decrypt(FILE, file)
    this.#content = text === undefined ? EMPTY : (JSON.parse(text) as Content)
    return this.#content
  }

  /** If the file cannot be written, the next process reads the messages from the service again. */
  #write(written: Content): void {
    try {
      writeDurably(this.#path, this.#cipher.encrypt(FILE, JSON.stringify(written)))
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
    }
  }
}

/** The newest entries that fit the bounds. */
function withinBounds(entries: readonly Entry[]): Entry[] {
  let characters = 0
  const end = entries.findIndex(({ text }, at) => {
    characters += text.length
    return at >= MAX_ENTRIES || characters > MAX_CHARACTERS
  })
  return end < 0 ? [...entries] : entries.slice(0, end)
}
