import { join } from 'node:path'
import { readIfThere, replaceFile } from './files.ts'

/**
 * The place of this agent in its events, shared by all processes with the same state folder. It only moves forward. Two
 * processes that move it at the same moment may leave the smaller value: events are then delivered again, never lost.
 */
export interface CursorFile {
  /** Cursor of the last event that was dealt with; undefined before the first. */
  read(): number | undefined
  /** Moves to a cursor; a smaller one than the file's changes nothing. */
  advance(cursor: number): void
}

export function createCursorFile(folder: string): CursorFile {
  const path = join(folder, 'cursor')
  const read = (): number | undefined => {
    const text = readIfThere(path)?.toString('utf8').trim() ?? ''
    return /^\d{1,15}$/.test(text) ? Number(text) : undefined
  }
  return {
    read,
    advance(cursor) {
      const current = read()
      if (current === undefined || cursor > current) replaceFile(path, `${cursor}\n`)
    },
  }
}
