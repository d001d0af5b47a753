import { join } from 'node:path'
import type { Message } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { StoreError } from '@svc/sdk/errors.ts'
import { writeDurably } from '@svc/sdk/store/durable-file.ts'
import type { Cipher } from '../store/cipher.ts'
import { readIfThere } from '../store/files.ts'
import { type Reader, textOf } from './read.ts'

/**
 * The search index: a cache of all text that this agent can read, in one encrypted file, with the cursors up to which the
 * service was read. Several processes may replace the file. The last one wins, and reads missing messages again.
 */
export interface SearchIndex {
  /** Reads new messages. @returns false if there are more than one call reads. */
  catchUp(signal: AbortSignal): Promise<boolean>
  /** Ids of messages that contain every word of the query, newest first, and the cursor of the next page. */
  search(query: string, limit: number, cursor: string | undefined): { ids: string[]; next: string | undefined }
}

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
const MAX_PAGES = 20
/** Beyond this number the oldest entries are dropped. */
const MAX_ENTRIES = 20_000
const MAX_TEXT = 4_000
/** The most characters of all texts. The file is written as a whole and held in memory. */
const MAX_CHARACTERS = 8_000_000
const EMPTY: Content = { exported: undefined, events: 0, entries: [] }

export function createSearchIndex(
  { client, reader, cipher }: { client: AgentClient; reader: Reader; cipher: Cipher },
  folder: string,
): SearchIndex {
  const path = join(folder, FILE)
  let content: Content | undefined

  function load(): Content {
    if (content !== undefined) return content
    const file = readIfThere(path)
    const text = file === undefined ? undefined : cipher.decrypt(FILE, file)
    content = text === undefined ? EMPTY : (JSON.parse(text) as Content)
    return content
  }

  /** If the file cannot be written, the next process reads the messages from the service again. */
  function write(written: Content): void {
    try {
      writeDurably(path, cipher.encrypt(FILE, JSON.stringify(written)))
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
    }
  }

  async function entryOf(message: Message, signal: AbortSignal): Promise<Entry | undefined> {
    const { body } = await reader.read(message, signal)
    if (body === undefined) return undefined
    const { envelope, created_at: at, expires_at: expiresAt } = message
    return { id: envelope.id, at, expiresAt, text: textOf(body).slice(0, MAX_TEXT).toLowerCase() }
  }

  return {
    async catchUp(signal) {
      const before = load()
      const found = new Map<string, Entry>()
      const add = async (message: Message): Promise<void> => {
        const entry = await entryOf(message, signal)
        if (entry !== undefined) found.set(entry.id, entry)
      }
      let { exported, events } = before
      let pages = 0
      let isExportDone = false
      for await (const page of client.export({ after: exported, pageSize: PAGE_SIZE, signal }).pages()) {
        for (const message of page.items) await add(message)
        pages += 1
        isExportDone = page.next === ''
        // The last page has no next cursor, so it is read again the next time (spec 13.4).
        if (!isExportDone) exported = page.next
        if (pages >= MAX_PAGES) break
      }
      let areEventsDone = false
      for await (const page of client.events({ after: events, pageSize: PAGE_SIZE, signal }).pages()) {
        for (const { kind, message } of page.items) if (kind === 'board') await add(message)
        pages += 1
        areEventsDone = page.next === events
        events = page.next
        if (pages >= 2 * MAX_PAGES) break
      }
      const now = Math.floor(Date.now() / 1000)
      const kept = before.entries.filter(({ id, expiresAt }) => !found.has(id) && expiresAt > now)
      const entries = [...kept, ...found.values()].sort((a, b) => b.at - a.at || (a.id < b.id ? -1 : 1))
      content = { exported, events, entries: withinBounds(entries) }
      // The last page was already read, so it often contains nothing new.
      const isNew =
        exported !== before.exported || events !== before.events || content.entries.length !== before.entries.length
      if (isNew) write(content)
      return isExportDone && areEventsDone
    },
    search(query, limit, cursor) {
      const words = query
        .toLowerCase()
        .split(/\s+/u)
        .filter((word) => word !== '')
      const { entries } = load()
      const start = cursor === undefined ? 0 : entries.findIndex(({ id }) => id === cursor) + 1
      const ids: string[] = []
      for (const { id, text } of entries.slice(start)) {
        if (!words.every((word) => text.includes(word))) continue
        if (ids.length === limit) return { ids, next: ids.at(-1) }
        ids.push(id)
      }
      return { ids, next: undefined }
    },
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
