/** A login in a file that is replaced while a process runs (docs/operating/rotate.md). */

import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { ConfigError } from './env-reader.ts'

/**
 * @param read reads the files. @param make makes a value from their contents. Both may throw; the message is then logged.
 * @returns a function that reads the files again. It returns the same value until a file changes. If a file is missing or
 *   half-written, it logs that and returns its last value.
 * @throws ConfigError if the files cannot be used now.
 */
export function renewed<S, T>(read: () => S, make: (contents: S) => T, say: (problem: string) => void): () => T {
  let contents: S
  let made: T
  try {
    contents = read()
    made = make(contents)
  } catch (cause) {
    throw new ConfigError(`configuration: ${messageOf(cause)}`, { cause })
  }
  return () => {
    try {
      const now = read()
      if (!isDeepStrictEqual(now, contents)) made = make(now)
      contents = now
    } catch (error) {
      say(`${messageOf(error)}. Until you correct this, the process uses the contents that it read before.`)
    }
    return made
  }
}

/** How often the file is read. */
const CHECK_MS = 1_000
/** A refused login is tried again after this time, then ever later. */
const FIRST_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 10_000

interface FollowOptions<T> {
  /** Returns the same object until the file changes. */
  readonly read: () => T
  /** The login that the server accepted last. */
  readonly accepted: () => T
  /** Tries a login. @returns whether the server accepted it. Must not throw. */
  readonly move: (login: T) => Promise<boolean>
  readonly signal: AbortSignal
}

/** Tries each changed login until the server accepts it. So the file and the server may change in any order. */
export async function followLogin<T>({ read, accepted, move, signal }: FollowOptions<T>): Promise<void> {
  let refused: T | undefined
  let pauseMs = FIRST_PAUSE_MS
  let againMs = 0
  for (;;) {
    await sleep(CHECK_MS, undefined, { signal, ref: false }).catch(() => {})
    if (signal.aborted) return
    const login = read()
    if (login === accepted() || (login === refused && performance.now() < againMs)) continue
    if (await move(login)) continue
    pauseMs = login === refused ? Math.min(pauseMs * 2, MAX_PAUSE_MS) : FIRST_PAUSE_MS
    againMs = performance.now() + pauseMs
    refused = login
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
