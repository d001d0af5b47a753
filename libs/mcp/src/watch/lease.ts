import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { createFile, readIfThere, replaceFile, writtenAtMs } from '../store/files.ts'

/**
 * Says which process holds the stream of a state folder. Two processes may both believe so for a moment, which costs a second
 * stream and nothing else: the stream only wakes those who wait, and what they read comes from the history.
 */
export interface Lease {
  /** Takes the lease, or renews it. @returns false while another process holds it. */
  take(): boolean
  release(): void
}

/** A holder that has not renewed for so long is gone, or stands still. */
export const STALE_MS = 10_000

export function createLease(path: string, nowMs: () => number = Date.now): Lease {
  const mark = randomBytes(12).toString('hex')
  const isOwn = (): boolean => readIfThere(path)?.toString('utf8') === mark
  return {
    take() {
      if (createFile(path, mark)) return true
      const isStale = nowMs() - (writtenAtMs(path) ?? 0) > STALE_MS
      if (!isOwn() && !isStale) return false
      replaceFile(path, mark)
      return true
    },
    release() {
      if (isOwn()) rmSync(path, { force: true })
    },
  }
}
