import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeDurably } from '@svc/sdk/store/durable-file.ts'
import { UsageError } from '../io.ts'

/**
 * How far a listener has processed an agent's events. It is a small file, which is synced to the disk before each further
 * step. Posts have no acknowledgement, so only this file tells which posts are finished.
 */
export interface Progress {
  /** Every event up to this cursor is finished, or does not concern this listener. */
  readonly cursor: number
  /** Whether an event is finished. Events after the cursor may be finished too. */
  isFinished(cursor: number): boolean
  /** Whether the work of an event has succeeded. Only the acknowledgement is missing then. */
  hasSucceeded(cursor: number): boolean
  /** Keeps the cursor before this event until the event is finished. */
  take(cursor: number): void
  /** Counts an attempt before it begins. @returns its number, from 1, over all runs of the listener. */
  begin(cursor: number): number
  /** Uncounts an attempt that ended because the listener stopped. */
  giveBack(cursor: number): void
  succeed(cursor: number): void
  finish(cursor: number): void
  /** Records that there is nothing to process between the last taken event and this cursor. */
  pass(cursor: number): void
}

interface Stored {
  readonly version: 1
  readonly agent_id: string
  readonly authority: string
  readonly cursor: number
  /** Cursors of finished events after `cursor`. */
  readonly finished: number[]
  readonly succeeded: number[]
  /** Attempts by cursor. */
  readonly attempts: Record<string, number>
}

interface Owner {
  readonly agentId: string
  readonly authority: string
}

/**
 * Opens the progress of a folder. Only one process may have it open (`lockFolder`).
 * @param begin returns the first cursor if the folder has no progress yet.
 * @throws UsageError if the file is damaged or belongs to another agent.
 */
export async function openProgress(
  folder: string,
  { agentId, authority }: Owner,
  begin: () => Promise<number>,
): Promise<Progress> {
  const path = join(folder, 'progress.json')
  const stored = read(path)
  if (stored !== undefined && (stored.agent_id !== agentId || stored.authority !== authority)) {
    throw new UsageError(`${folder} belongs to ${stored.agent_id} at ${stored.authority}: choose another --state`)
  }
  let cursor = stored?.cursor ?? (await begin())
  /** All events up to this cursor were taken or skipped. An earlier run may have finished events after it. */
  let reached = cursor
  const taken = new Set<number>()
  const finished = new Set(stored?.finished)
  const succeeded = new Set(stored?.succeeded)
  const attempts = new Map(Object.entries(stored?.attempts ?? {}).map(([at, count]) => [Number(at), count]))
  if (stored === undefined) write()

  return {
    get cursor() {
      return cursor
    },
    isFinished: (at) => at <= cursor || finished.has(at),
    hasSucceeded: (at) => succeeded.has(at),
    take(at) {
      taken.add(at)
      reached = Math.max(reached, at)
    },
    begin(at) {
      const attempt = (attempts.get(at) ?? 0) + 1
      attempts.set(at, attempt)
      write()
      return attempt
    },
    giveBack(at) {
      attempts.set(at, Math.max(0, (attempts.get(at) ?? 0) - 1))
      write()
    },
    succeed(at) {
      succeeded.add(at)
      write()
    },
    finish(at) {
      taken.delete(at)
      finished.add(at)
      advance()
      write()
    },
    pass(at) {
      reached = Math.max(reached, at)
      const before = cursor
      advance()
      if (cursor !== before) write()
    },
  }

  /** Moves the cursor up to the first event that is not finished. */
  function advance(): void {
    cursor = taken.size === 0 ? reached : Math.min(...taken) - 1
    for (const at of finished) if (at <= cursor) finished.delete(at)
    for (const at of succeeded) if (at <= cursor) succeeded.delete(at)
    for (const at of attempts.keys()) if (at <= cursor) attempts.delete(at)
  }

  function write(): void {
    const now: Stored = {
      version: 1,
      agent_id: agentId,
      authority,
      cursor,
      finished: [...finished],
      succeeded: [...succeeded],
      attempts: Object.fromEntries(attempts),
    }
    writeDurably(path, `${JSON.stringify(now)}\n`)
  }
}

function read(path: string): Stored | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw new UsageError(`${path} cannot be read: ${(cause as Error).message}`, { cause })
  }
  try {
    const value = JSON.parse(text) as Partial<Stored>
    if (value.version !== 1 || !isCursor(value.cursor)) throw new TypeError('it has no valid cursor or version')
    if (![...(value.finished ?? [0, '']), ...(value.succeeded ?? [''])].every(isCursor))
      throw new TypeError('a cursor is invalid')
    if (typeof value.attempts !== 'object' || !Object.values(value.attempts).every(isCursor))
      throw new TypeError('its attempts are invalid')
    return value as Stored
  } catch (cause) {
    throw new UsageError(
      `${path} is damaged (${(cause as Error).message}): move it away, and use --after <cursor> to begin again`,
      { cause },
    )
  }
}

function isCursor(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
