/** A folder of backups, each in a folder that is named after its time. Folders with other names are never touched. */
import { readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** `svc admin restore` and `drill` ignore folders that end with it. */
export const UNFINISHED = '.unfinished'
const NAME = /^\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}Z$/

/** Names sort by time. */
export function nameOfBackup(now: Date): string {
  return `${now.toISOString().slice(0, 19).replaceAll(':', '-')}Z`
}

/** Removes what interrupted backups and interrupted removals have left. */
export function removeUnfinished(folder: string): void {
  for (const name of readdirSync(folder))
    if (name.endsWith(UNFINISHED) && NAME.test(name.slice(0, -UNFINISHED.length))) remove(join(folder, name))
}

/**
 * Removes all but the newest backups.
 * @returns the names of the removed ones.
 */
export function removeOld(folder: string, keep: number): string[] {
  const old = readdirSync(folder)
    .filter((name) => NAME.test(name))
    .toSorted()
    .slice(0, -keep)
  for (const name of old) {
    // First the name, so that half a backup never looks like a whole one.
    const unfinished = join(folder, name + UNFINISHED)
    renameSync(join(folder, name), unfinished)
    remove(unfinished)
  }
  return old
}

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
}
