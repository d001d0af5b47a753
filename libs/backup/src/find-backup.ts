import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { BackupError } from './backup-error.ts'
import { UNFINISHED } from './kept-backups.ts'
import { MANIFEST, readManifest } from './manifest.ts'

/** The folder itself if it is a backup, otherwise the newest backup in it. @throws BackupError if there is none. */
export function findBackup(folder: string): string {
  if (existsSync(join(folder, MANIFEST))) return folder
  const names = existsSync(folder) ? readdirSync(folder) : []
  const found = names
    // A backup that was killed just before its rename leaves a complete folder named `.unfinished`.
    .filter((name) => !name.endsWith(UNFINISHED) && existsSync(join(folder, name, MANIFEST)))
    .map((name) => ({ path: join(folder, name), moment: readManifest(join(folder, name)).moment }))
    .toSorted((a, b) => (a.moment < b.moment ? -1 : 1))
  const newest = found.at(-1)
  if (newest === undefined)
    throw new BackupError(
      `${folder} is not a backup and contains none: name the folder of a backup, or the folder that holds your backups`,
    )
  return newest.path
}
