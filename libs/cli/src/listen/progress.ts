import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeDurably } from '../files/durable-file.ts'
import { UsageError } from '../io.ts'

/**
 * How far a listener has worked through an agent's events: a small file that is on the disk before each step goes on. Posts have no
 * acknowledgement, so this is all that tells which of them are finished.
 */
export interface Progress {
  /** Every event up to this cursor is finished, or is not this listener's to handle. */
  readonly cursor: number
  /** Whether an event behind the cursor is finished. */
  isFinished(cursor: number): boolean
  /** Whether its work has succeeded, so that only the acknowledgement is missing. */
  hasSucceeded(cursor: number): boolean
  /** Keeps the cursor in front of this event until it is finished. */
  take(cursor: number): void
  /** Counts an attempt before it begins. @returns its number, from 1, over all runs of the listener. */
  begin(cursor: number): number
  /** Takes an attempt back that ended because the listener did. */
  giveBack(cursor: number): void
  succeed(cursor: number): void
  finish(cursor: number): void
  /** There is nothing to handle from the last event that was taken up to this cursor. */
  pass(cursor: number): void
}

interface Stored {
  readonly version: 1
  readonly agent_id: string
  readonly authority: string
  readonly cursor: number
  /** Finished out of turn. */
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
 * Opens the progress of a folder; only one process may have it (`lockFolder`).
 * @param begin tells where to begin if the folder has none yet.
 * @throws UsageError where the file is damaged, or another agent's.
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
  /** All events up to here were taken or passed. An earlier run may have finished some behind it. */
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

  /** Up to the first event that is not finished. */
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
    if (value.version !== 1 || !isCursor(value.cursor)) throw new TypeError('it has no cursor of this version')
    if (![...(value.finished ?? [0, '']), ...(value.succeeded ?? [''])].every(isCursor))
      throw new TypeError('a cursor is none')
    if (typeof value.attempts !== 'object' || !Object.values(value.attempts).every(isCursor))
      throw new TypeError('no attempts')
    return value as Stored
  } catch (cause) {
    throw new UsageError(
      `${path} is damaged (${(cause as Error).message}): move it away and give --after <cursor> to begin again`,
      { cause },
    )
  }
}

function isCursor(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
