import { join } from 'node:path'
import { SERVICE } from '@svc/contracts/limits.ts'
import { type Command, Option } from 'commander'
import { wholeNumber } from '../../arguments.ts'
import { contextOf } from '../../context.ts'
import { bytes, duration } from '../../output/format.ts'
import type { AdminGroup } from './group.ts'

/** Options of the commands that read or write a whole database. */
export interface DatabaseOptions {
  readonly databaseUrl?: string
}

export const databaseUrl = (): Option =>
  new Option(
    '--database-url <url>',
    'postgres://… of an administrator; prefer SVC_DATABASE_URL, which ps does not show',
  )

interface BackupOptions extends DatabaseOptions {
  readonly keep?: number
}

export function addBackup({ group, io }: AdminGroup): void {
  group
    .command('backup')
    .argument('<folder>', 'a new folder, for this backup alone; with --keep, the folder that holds your backups')
    .addOption(databaseUrl())
    .option(
      '--keep <n>',
      'make a folder named after the time, and remove all such folders but the newest <n>',
      wholeNumber(1, 10_000),
    )
    .description('copy all data to a folder, as it is at one moment, while the system works')
    .addHelpText(
      'after',
      `
The folder appears when the backup is complete and on disk. An interrupted backup leaves <folder>.unfinished, which the next
one removes. The backup has no passwords and no keys: keep SVC_WEBHOOK_SECRET_KEY (of a local stack: .data/secret.key)
somewhere else. Without it, the secrets of webhooks are lost. Anybody who can read the folder can read every message that is
not sealed. With --keep, the oldest backup is removed when the newest is complete. Folders with other names stay.

Examples:
  svc admin backup /backups/$(date +%F)
  svc admin backup /backups --keep 7
  SVC_DATABASE_URL_FILE=admin-url svc admin backup /backups/today --json`,
    )
    .action(async (given: string, options: BackupOptions, command: Command) => {
      const { out, signal } = contextOf(io, command)
      const { findAdminUrl, findStores, withDatabase } = await import('../../admin/databases.ts')
      const { writeBackup } = await import('@svc/backup/write-backup.ts')
      const { nameOfBackup } = await import('@svc/backup/kept-backups.ts')
      const { sizeOf } = await import('@svc/backup/manifest.ts')
      const { keep } = options
      const folder = keep === undefined ? given : join(given, nameOfBackup(new Date()))
      const removed: string[] = []
      const url = findAdminUrl(io, options.databaseUrl)
      const begunMs = performance.now()
      const manifest = await withDatabase(url, () =>
        writeBackup({
          url,
          folder,
          keep,
          schemas: [...findStores().keys()],
          release: SERVICE.version,
          signal,
          onTable: ({ schema, table, rows }) => (rows === 0 ? undefined : out.note(`${schema}.${table}: ${rows} rows`)),
          onRemoved: (name) => removed.push(name),
        }),
      )
      const seconds = Math.round((performance.now() - begunMs) / 100) / 10
      const { moment } = manifest
      const size = sizeOf(manifest)
      out.print(
        { folder, id: manifest.id, moment, seconds, ...size, release: manifest.release, removed },
        [
          `backed up ${size.rows} rows, ${bytes(size.bytes)}, as they were at ${moment}, in ${duration(seconds)}`,
          ...(removed.length === 0 ? [] : [`removed ${removed.join(', ')}`]),
          'without secrets: keep SVC_WEBHOOK_SECRET_KEY, or the secret.key of a local stack, in another place',
        ],
        folder,
      )
    })
}
