import { join } from 'node:path'
import { writeDurably } from '@svc/sdk/store/durable-file.ts'
import { readIfThere } from './files.ts'

/**
 * The position of this agent in its events, shared by all processes of a state folder. It moves forward, unless the log is shorter. If two
 * processes move it at the same moment, the smaller value may win. Some events are then delivered again, but none is lost.
 */
export class CursorFile {
  readonly #path: string

  constructor(folder: string) {
    this.#path = join(folder, 'cursor')
  }

  /** Cursor of the last event that was processed. Undefined before the first event. */
  read(): number | undefined {
    const text = readIfThere(this.#path)?.toString('utf8').trim() ?? ''
    return /^\d{1,15}$/.test(text) ? Number(text) : undefined
  }

  /** Moves to a cursor. A no-op if the file has a larger one. */
  advance(cursor: number): void {
    const current = this.read()
    if (current === undefined || cursor > current) this.write(cursor)
  }

  /** Moves to a cursor, also backward. */
  write(cursor: number): void {
    writeDurably(this.#path, `${cursor}\n`)
  }
}
