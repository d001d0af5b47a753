import { execFileSync } from 'node:child_process'
import { chownSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'

/** Files that the copy must not have, or that it gets from the WAL. */
const LEFT_OUT = ['./pg_wal/*', './pg_replslot/*', './postmaster.pid', './postmaster.opts']

/**
 * Copies the files of a running server, like `pg_basebackup`, which the packaged binaries lack. To start, the copy needs
 * the WAL from the beginning of the backup on, from the server or from an archive.
 * @param url of the superuser. @param from the server's data folder. @param to is replaced. @param signal `standby` or
 * `recovery`.
 */
export async function takeBaseBackup(
  url: string,
  { from, to, signal }: { from: string; to: string; signal?: 'standby' | 'recovery' },
): Promise<void> {
  // the label belongs to the session that began the backup
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    await sql`select pg_backup_start('copy', fast => true)`
    rmSync(to, { recursive: true, force: true })
    mkdirSync(to, { recursive: true, mode: 0o700 })
    const { uid, gid } = statSync(from)
    chownSync(to, uid, gid)
    const read = `tar -C "$1" ${LEFT_OUT.map((path) => `--exclude='${path}'`).join(' ')} -cf - .`
    execFileSync('sh', ['-c', `${read} | tar -C "$2" -xpf -`, 'sh', from, to], { stdio: 'ignore' })
    const [stopped] = await sql<
      { labelfile: string }[]
    >`select labelfile from pg_backup_stop(wait_for_archive => false)`
    const files = {
      backup_label: stopped?.labelfile ?? '',
      ...(signal === undefined ? {} : { [`${signal}.signal`]: '' }),
    }
    for (const [name, content] of Object.entries(files)) {
      writeFileSync(join(to, name), content, { mode: 0o600 })
      chownSync(join(to, name), uid, gid)
    }
  } finally {
    await sql.end()
  }
}
