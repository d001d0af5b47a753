/** A Postgres server that archives its WAL. It can be restored to a point in time from a base backup and the archive. */
import { randomBytes } from 'node:crypto'
import { chownSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Engine, startPostgres } from '@svc/local/engines/postgres.ts'
import { choosePostgresUser } from '@svc/local/engines/postgres-user.ts'
import { databaseUrl } from '@svc/local/engines/roles.ts'
import postgres from 'postgres'
import { eventually } from '../../eventually.ts'
import { createMigrated, type TestDatabase } from '../database.ts'
import { findTestRun, takePorts } from '../engines.ts'
import { takeBaseBackup } from './base-backup.ts'

interface ArchivedPostgres {
  /** Already migrated. The database ends with the server. */
  readonly database: TestDatabase
  takeBaseBackup(): Promise<void>
  /** Waits until the archive has the WAL of every commit so far. */
  archiveLog(): Promise<void>
  /** Sends SIGKILL and deletes all files of the server. */
  lose(): Promise<void>
  /** Restores from the base backup and the archive alone, at the same address. @param moment a Postgres timestamp. */
  restoreTo(moment: string): Promise<void>
}

const NAME = 'svc'
/** Relative to the data folder, in which Postgres runs commands. The server may not be allowed to enter the folders above it. */
const ARCHIVE = '../archive'
const SETTINGS = {
  wal_level: 'replica',
  max_wal_senders: 2,
  archive_mode: 'on',
  archive_command: `cp %p ${ARCHIVE}/%f.part && mv ${ARCHIVE}/%f.part ${ARCHIVE}/%f`,
  restore_command: `cp ${ARCHIVE}/%f %p`,
}

export async function startArchivedPostgres(): Promise<ArchivedPostgres> {
  const { folder: runFolder, mark } = await findTestRun()
  const folder = join(runFolder, `archived-${randomBytes(6).toString('hex')}`)
  const [cluster, base, archive] = ['postgres', 'base', 'archive'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  mkdirSync(archive, { recursive: true })
  const { uid, gid } = choosePostgresUser(cluster)
  if (uid !== undefined && gid !== undefined) chownSync(archive, uid, gid)
  const password = randomBytes(16).toString('hex')
  const port = await takePorts()
  const start = (settings: Record<string, string> = {}): Promise<Engine> => {
    const own = { folder, port, mark, password, durable: false, maxConnections: 100, sharedBuffersMib: 32 }
    return startPostgres({ ...own, settings: { ...SETTINGS, ...settings }, onProblem: () => {} })
  }
  let engine = await start()
  const created = await createMigrated(engine.url, NAME)
  const adminUrl = databaseUrl(engine.url, NAME)
  return {
    database: {
      ...created,
      async [Symbol.asyncDispose]() {
        await engine.stop()
        rmSync(folder, { recursive: true, force: true })
      },
    },
    takeBaseBackup: () => takeBaseBackup(adminUrl, { from: cluster, to: base, signal: 'recovery' }),
    async archiveLog() {
      const sql = postgres(adminUrl, { max: 1 })
      const [current] = await sql<{ file: string }[]>`select pg_walfile_name(pg_current_wal_lsn()) as file`
      await sql`select pg_switch_wal()`
      await eventually(
        async () =>
          (await sql`select from pg_stat_archiver where last_archived_wal >= ${current?.file ?? ''}`).length === 1,
      )
      await sql.end()
    },
    async lose() {
      engine.kill('SIGKILL')
      await engine.ended
      rmSync(cluster, { recursive: true })
    },
    async restoreTo(moment) {
      renameSync(base, cluster)
      engine = await start({ recovery_target_time: moment, recovery_target_action: 'promote' })
      const sql = postgres(adminUrl, { max: 1 })
      await eventually(async () => (await sql`select where not pg_is_in_recovery()`).length === 1)
      await sql.end()
    },
  }
}
