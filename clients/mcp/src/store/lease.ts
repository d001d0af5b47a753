import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { StoreError } from '@svc/sdk/errors.ts'
import { writeDurably } from '@svc/sdk/store/durable-file.ts'
import { codeOf } from '@svc/sdk/store/system-error.ts'
import { createFile, readIfThere, touchFile, writtenAtMs } from './files.ts'

/** A holder that has not renewed the lease for this long is dead or stalled. */
export const STALE_MS = 10_000

/**
 * Decides which process of a state folder holds the stream, or has the turn to spend. A stalled holder learns only at its
 * next renewal that another process took the lease over. For the stream this is harmless, because the stream only wakes
 * waiting calls, which read the event history. The turn to spend is taken from a live process only after a long time
 * (turns.ts).
 */
export class Lease {
  readonly #path: string
  readonly #stuckMs: number
  /** The content of the file while this process holds the lease. */
  readonly #mark = `${process.pid} ${randomBytes(12).toString('hex')}`

  /** @param stuckMs a live process keeps the lease for this long without a renewal. */
  constructor(path: string, stuckMs = STALE_MS) {
    this.#path = path
    this.#stuckMs = stuckMs
  }

  /** Takes the lease, or renews it. @returns false while another process holds it. @throws StoreError. */
  take(): boolean {
    if (createFile(this.#path, this.#mark)) return true
    const found = this.#readHolder()
    if (found === this.#mark) return touchFile(this.#path)
    const age = ageMs(this.#path)
    const isStale = age > this.#stuckMs || (age > STALE_MS && isGone(Number(found.split(' ')[0])))
    return isStale && this.#takeOver(found)
  }

  /** Like `take`, for timers. Also returns false if the file cannot be written. */
  renew(): boolean {
    try {
      return this.take()
    } catch (error) {
      if (error instanceof StoreError) return false
      throw error
    }
  }

  release(): void {
    try {
      if (this.#readHolder() === this.#mark) rmSync(this.#path, { force: true })
    } catch {
      // The lease becomes stale, and another process takes it over.
    }
  }

  #readHolder(): string {
    return readIfThere(this.#path)?.toString('utf8') ?? ''
  }

  /**
   * Replaces the file of a stale holder. The file `.takeover` lets one process at a time check the holder again, so only the
   * first one succeeds, unless a process stalls in here for longer than `STALE_MS`.
   */
  #takeOver(found: string): boolean {
    const turn = `${this.#path}.takeover`
    if (!createFile(turn, this.#mark)) {
      // A process was killed in here, or stalls.
      if (ageMs(turn) > STALE_MS) rmSync(turn, { force: true })
      return false
    }
    try {
      if (this.#readHolder() !== found) return false
      writeDurably(this.#path, this.#mark)
      return true
    } finally {
      rmSync(turn, { force: true })
    }
  }
}

/** Time since the last write. 0 if the file is gone, because another process may create it at this moment. */
function ageMs(file: string): number {
  return Date.now() - (writtenAtMs(file) ?? Date.now())
}

/** Whether a process holds the lease of this file now. */
export function isHeld(path: string): boolean {
  return readIfThere(path) !== undefined && ageMs(path) <= STALE_MS
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return codeOf(error) === 'ESRCH'
  }
}
