/** The progress of a listener of version 2.0.0 and earlier, in `progress.json`. It is read once. */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { UsageError } from '../io.ts'

const FILE = 'progress.json'

/**
 * The cursor at which such a listener has ended. Messages after it that it had finished already run again if they were not
 * acknowledged, such as posts.
 * @throws UsageError if the file is damaged or belongs to another agent.
 */
export function findOldCursor(
  folder: string,
  { agentId, authority }: { agentId: string; authority: string },
): number | undefined {
  const path = join(folder, FILE)
  let stored: { agent_id?: unknown; authority?: unknown; cursor?: unknown } | null
  try {
    stored = JSON.parse(readFileSync(path, 'utf8')) as typeof stored
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw damaged(path, cause)
  }
  if (!Number.isSafeInteger(stored?.cursor)) throw damaged(path)
  if (stored?.agent_id !== agentId || stored.authority !== authority)
    throw new UsageError(`${folder} belongs to ${stored?.agent_id} at ${stored?.authority}: choose another --state`)
  return Number(stored.cursor)
}

/** The new progress is on the disk. */
export function removeOldProgress(folder: string): void {
  rmSync(join(folder, FILE), { force: true })
}

function damaged(path: string, cause?: unknown): UsageError {
  return new UsageError(`${path} is damaged: move it away, and use --after <cursor> to begin again`, { cause })
}
