import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { writeDurably } from '@svc/sdk/store/durable-file.ts'
import { CursorFile } from '../store/cursor.ts'
import { createFile, makeFolder, readIfThere, removeOldest } from '../store/files.ts'

/** What became of a message that a channel has told of. A message that was told may never be read, and one that was read may never be answered. */
interface ToldMessage {
  readonly id: string
  /** When the notification was written to the client, which confirms nothing. */
  readonly toldAtMs: number
  /** When a tool has shown the message. */
  readonly readAtMs?: number
  /** When this agent has sent an answer. */
  readonly answeredAtMs?: number
}

const BOUNDS = { files: 1_000, bytes: 1024 * 1024, seconds: 90 * 86_400 }

/** The messages that a channel has told of, for every process of a state folder. */
export class Told {
  readonly #folder: string
  /** Everything up to this cursor was told, or is not to be told. */
  readonly cursor: CursorFile

  constructor(stateFolder: string) {
    const folder = join(stateFolder, 'channel')
    this.#folder = join(folder, 'told')
    makeFolder(this.#folder)
    this.cursor = new CursorFile(folder)
  }

  /** Call it before the message is told, so that no crash lets it be told twice. @returns false if it was told before. */
  add(id: string): boolean {
    const message: ToldMessage = { id, toldAtMs: Date.now() }
    return createFile(this.#pathOf(id), JSON.stringify(message))
  }

  /** A tool has shown these messages. A no-op for the messages that no channel told of. */
  markRead(ids: readonly string[]): void {
    for (const id of ids) this.#mark(id, 'readAtMs')
  }

  markAnswered(id: string): void {
    this.#mark(id, 'answeredAtMs')
  }

  /** Latest first. */
  list(): ToldMessage[] {
    const messages = readdirSync(this.#folder).flatMap((name) => this.#read(join(this.#folder, name)) ?? [])
    return messages.sort((a, b) => b.toldAtMs - a.toldAtMs)
  }

  /**
   * Whether a message of this time may have been told and forgotten since.
   * @param createdAt in Unix seconds.
   */
  mayHaveForgotten(createdAt: number): boolean {
    const known = this.list()
    return known.length >= BOUNDS.files && createdAt * 1_000 < (known.at(-1)?.toldAtMs ?? 0)
  }

  prune(): void {
    removeOldest(this.#folder, BOUNDS)
  }

  #mark(id: string, member: 'readAtMs' | 'answeredAtMs'): void {
    const path = this.#pathOf(id)
    const message = this.#read(path)
    if (message === undefined || message[member] !== undefined) return
    writeDurably(path, JSON.stringify({ ...message, [member]: Date.now() }), { isFlushed: false })
  }

  #read(path: string): ToldMessage | undefined {
    const text = readIfThere(path)?.toString('utf8') ?? ''
    try {
      return text === '' ? undefined : (JSON.parse(text) as ToldMessage)
    } catch {
      // Another process creates the file at this moment.
      return undefined
    }
  }

  /** A hash, because some file systems do not distinguish upper and lower case. */
  #pathOf(id: string): string {
    return join(this.#folder, createHash('sha256').update(id).digest('hex').slice(0, 40))
  }
}
