import { chmodSync, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './run.ts'

/**
 * Writes a folder as a tar file. Its bytes depend only on names, contents, links and execute permissions. They do not
 * depend on times, owners, the umask, the order of the file system, or hard links.
 */
export async function writeLayer(folder: string, file: string, epochSeconds: number): Promise<void> {
  setModes(folder)
  await run('tar', [
    ...['--create', '--file', file, '--directory', folder],
    ...['--sort=name', `--mtime=@${epochSeconds}`, '--owner=0', '--group=0', '--numeric-owner', '--hard-dereference'],
    // Extended headers only for long names: without access and change times, and without process ids in their names.
    ...['--format=posix', '--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime'],
    ...readdirSync(folder).toSorted(),
  ])
}

/** Permissions: 755 for folders and executable files, 644 for the rest. The folder for temporary files keeps its sticky bit. */
function setModes(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const stat = lstatSync(path)
    if (stat.isSymbolicLink()) continue
    const isSticky = (stat.mode & 0o1000) !== 0
    chmodSync(path, stat.isDirectory() ? (isSticky ? 0o1777 : 0o755) : (stat.mode & 0o111) !== 0 ? 0o755 : 0o644)
    if (stat.isDirectory()) setModes(path)
  }
}
