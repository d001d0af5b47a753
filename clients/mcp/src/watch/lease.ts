import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { StoreError } from '@svc/sdk/errors.ts'
import { writeDurably } from '@svc/sdk/store/durable-file.ts'
import { createFile, readIfThere, touchFile, writtenAtMs } from '../store/files.ts'

/**
 * Decides which process of a state folder holds the stream, or has the turn to spend. A stalled holder learns only at its
 * next renewal that another process took the lease over. For the stream this is harmless, because the stream only wakes
 * waiting calls, which read the event history. The turn to spend is taken from a live process only after a long time
 * (turns.ts).
 */
interface Lease {
  /** Takes the lease, or renews it. @returns false while another process holds it. @throws StoreError. */
  take(): boolean
  /** Like `take`, for timers. Also returns false if the file cannot be written. */
  renew(): boolean
  release(): void
}

/** A holder that has not renewed the lease for this long is dead or stalled. */
export const STALE_MS = 10_000

/** @param stuckMs a live process keeps the lease for this long without a renewal. */
export function createLease(path: string, stuckMs = STALE_MS): Lease {
  const mark = `${process.pid} ${randomBytes(12).toString('hex')}`
  const holder = (): string => readIfThere(path)?.toString('utf8') ?? ''
  const isOwn = (): boolean => holder() === mark
  /** Time since the last write. 0 if the file is gone, because another process may create it at this moment. */
  const ageMs = (file: string): number => Date.now() - (writtenAtMs(file) ?? Date.now())
  const lease: Lease = {
    take() {
      if (createFile(path, mark)) return true
      const found = holder()
      if (found === mark) return touchFile(path)
      const isStale = ageMs(path) > stuckMs || (ageMs(path) > STALE_MS && isGone(Number(found.split(' ')[0])))
      return isStale && takeOver(found)
    },
    renew() {
      try {
        return lease.take()
      } catch (error) {
        if (error instanceof StoreError) return false
        throw error
      }
    },
    release() {
      try {
        if (isOwn()) rmSync(path, { force: true })
      } catch {
        // The lease becomes stale, and another process takes it over.
      }
    },
  }
  return lease

  /**
   * Replaces the file of a stale holder. The file `.takeover` lets one process at a time check the holder again, so only the
   * first one succeeds, unless a process stalls in here for longer than `STALE_MS`.
   */
  function takeOver(found: string): boolean {
    const turn = `${path}.takeover`
    if (!createFile(turn, mark)) {
      // A process was killed in here, or stalls.
      if (ageMs(turn) > STALE_MS) rmSync(turn, { force: true })
      return false
    }
    try {
      if (holder() !== found) return false
      writeDurably(path, mark)
      return true
    } finally {
      rmSync(turn, { force: true })
    }
  }
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH'
  }
}
