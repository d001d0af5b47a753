import type { Command } from 'commander'
import { sectionLines, wrongLine } from '../../admin/book-lines.ts'
import { wholeNumber } from '../../arguments.ts'
import { contextOf } from '../../context.ts'
import { EXIT } from '../../exit-codes.ts'
import { bytes, duration } from '../../output/format.ts'
import { type DatabaseOptions, databaseUrl } from './backup.ts'
import type { AdminGroup } from './group.ts'
import { RAISE_BY } from './restore.ts'

interface DrillOptions extends DatabaseOptions {
  readonly maxAge?: number
}

const SECONDS_PER_HOUR = 3_600

export function addDrill({ group, io, setExitCode }: AdminGroup): void {
  group
    .command('drill')
    .argument('<folder>', 'a backup, or a folder of backups: then the newest one')
    .addOption(databaseUrl())
    .option('--max-age <hours>', 'fail if the backup is older', wholeNumber(1, 87_600))
    .description('try a restore: restore into a new database beside the others, verify the books, report, and drop it')
    .addHelpText(
      'after',
      `
For a scheduler. It changes no data, and may run while the system works, but needs room for a second copy on the server. To
spare the server, give the URL of another one. What a killed drill leaves is dropped by the next one.
Exits with 0 if the backup is good, 5 if its books do not add up, and 1 if it is damaged, too old or missing.

Examples:
  svc admin drill /backups --max-age 26
  svc admin drill /backups/2026-11-27 --json`,
    )
    .action(async (folder: string, options: DrillOptions, command: Command) => {
      const { out, signal } = contextOf(io, command)
      const { findAdminUrl, findStores, withDatabase } = await import('../../admin/databases.ts')
      const { verifyDatabase } = await import('../../admin/verify-database.ts')
      const { restoreBackup } = await import('@svc/backup/restore-backup.ts')
      const { withScratchDatabase } = await import('@svc/backup/scratch-database.ts')
      const { findBackup } = await import('@svc/backup/find-backup.ts')
      const { sizeOf } = await import('@svc/backup/manifest.ts')
      const url = findAdminUrl(io, options.databaseUrl)
      const begunMs = performance.now()
      const backup = findBackup(folder)
      out.note(`restoring ${backup}`)
      const wrong: object[] = []
      const { manifest, books } = await withDatabase(url, () =>
        withScratchDatabase(url, async (scratch) => {
          const { manifest } = await restoreBackup({
            url: scratch,
            folder: backup,
            stores: findStores(),
            raiseBy: RAISE_BY,
            reason: 'drill',
            signal,
            onStep: () => {},
          })
          const books = await verifyDatabase(scratch, io, (section, one) => {
            wrong.push({ section, wrong: one })
            out.note(wrongLine(section, one))
          })
          return { manifest, books }
        }),
      )
      const seconds = Math.round((performance.now() - begunMs) / 100) / 10
      const ageSeconds = Math.round((Date.now() - Date.parse(manifest.moment)) / 1_000)
      const size = sizeOf(manifest)
      const isOld = options.maxAge !== undefined && ageSeconds > options.maxAge * SECONDS_PER_HOUR
      const good = wrong.length === 0 && !isOld
      out.print(
        {
          good,
          backup,
          id: manifest.id,
          moment: manifest.moment,
          age_seconds: ageSeconds,
          too_old: isOld,
          seconds,
          ...size,
          ...books,
          wrong,
        },
        [
          ...sectionLines(books.sections),
          '',
          `${good ? 'good' : 'BAD'}: ${backup}, of ${manifest.moment}, ${duration(ageSeconds)} old${isOld ? ', TOO OLD' : ''}`,
          `restored and verified ${size.rows} rows, ${bytes(size.bytes)}, in ${duration(seconds)}; the copy was dropped`,
        ],
      )
      if (wrong.length > 0) setExitCode(EXIT.wrongBooks)
      else if (isOld) setExitCode(EXIT.refused)
    })
}
