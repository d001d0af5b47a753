import { existsSync, statSync } from 'node:fs'
import type { Manifest } from '@svc/backup/manifest.ts'
import type { Restored } from '@svc/backup/restore-backup.ts'
import type { Command } from 'commander'
import { sectionLines, wrongLine } from '../../admin/book-lines.ts'
import { wholeNumber } from '../../arguments.ts'
import { contextOf } from '../../context.ts'
import { EXIT } from '../../exit-codes.ts'
import { UsageError } from '../../io.ts'
import { bytes, duration } from '../../output/format.ts'
import { type DatabaseOptions, databaseUrl } from './backup.ts'
import { type AdminGroup, DRY_RUN, REASON } from './group.ts'
import { AS_BOARD, AS_MESSAGE, REFERENCE, setTakenDown, type TargetOptions } from './takedown.ts'

interface RestoreOptions extends DatabaseOptions, TargetOptions {
  readonly raiseBy: number
}

const MAX_BY = 1_000_000_000
/** More events than most agents receive between a backup and the loss of the database. */
export const RAISE_BY = 10_000

export function addRestore(admin: AdminGroup): void {
  admin.group
    .command('restore')
    .argument('<what>', 'the id of a message or a board that was taken down, or the folder of a backup')
    .addOption(databaseUrl())
    .option(...REASON)
    .option('--raise-by <n>', 'positions by which all heads are raised', wholeNumber(1, MAX_BY), RAISE_BY)
    .option(...REFERENCE)
    .option(...AS_MESSAGE)
    .option(...AS_BOARD)
    .option(...DRY_RUN)
    .description(
      'show a message or board that was taken down; or put a backup into an empty database, raise the heads, and verify the books',
    )
    .addHelpText(
      'after',
      `
With an id: shows the message or board again. Messages are looked up first; use --message or --board to choose one kind.

With a folder, which contains a / or exists: nothing may use the database. It must have no data of the system: a restore never replaces data. If it is interrupted, repeat
it: no service starts on a part of a backup. What is left to do afterwards is printed at the end, and is in
docs/operating/back-up.md. Exits with 5 if the books do not add up.

Examples:
  svc admin restore <message_id> --reason 'a mistake' --reference INC-17
  svc admin restore /backups/2026-11-27 --reason "disk lost, INC-17"`,
    )
    .action(async (what: string, options: RestoreOptions, command: Command) => {
      if (!isFolder(what)) return await setTakenDown(admin, { id: what, takenDown: false, options, command })
      if (options.dryRun === true) throw new UsageError('a backup has no --dry-run: svc admin drill tries it')
      await restoreFolder(admin, what, options, command)
    })
}

async function restoreFolder(
  { io, setExitCode }: AdminGroup,
  folder: string,
  { databaseUrl: given, reason, raiseBy }: RestoreOptions,
  command: Command,
): Promise<void> {
  if (reason === undefined) throw new UsageError('--reason is missing: say why, for the audit')
  const { out, signal } = contextOf(io, command)
  const { findAdminUrl, findStores, withDatabase } = await import('../../admin/databases.ts')
  const { verifyDatabase } = await import('../../admin/verify-database.ts')
  const { restoreBackup } = await import('@svc/backup/restore-backup.ts')
  const { sizeOf } = await import('@svc/backup/manifest.ts')
  const url = findAdminUrl(io, given)
  const begunMs = performance.now()
  const onStep = (step: string): void => out.note(step)
  const restored = await withDatabase(url, () =>
    restoreBackup({ url, folder, stores: findStores(), raiseBy, reason, signal, onStep }),
  )
  onStep('verifying the books')
  const wrong: object[] = []
  const books = await verifyDatabase(url, io, (section, one) => {
    wrong.push({ section, wrong: one })
    out.note(wrongLine(section, one))
  })
  const seconds = Math.round((performance.now() - begunMs) / 100) / 10
  const { id, moment } = restored.manifest
  const size = sizeOf(restored.manifest)
  out.print(
    { folder, id, moment, seconds, ...size, raised: { logs: restored.raisedLogs, by: raiseBy }, ...books, wrong },
    [
      ...sectionLines(books.sections),
      '',
      `restored ${size.rows} rows, ${bytes(size.bytes)}, as they were at ${moment}, in ${duration(seconds)}`,
      ...consequences(restored, raiseBy),
    ],
  )
  if (wrong.length > 0) setExitCode(EXIT.wrongBooks)
}

function consequences({ manifest, raisedLogs }: Restored, raiseBy: number): string[] {
  return [
    `cursors: the heads of ${raisedLogs} logs were raised by ${raiseBy}. Old cursors stay valid and hide nothing; the positions in between stay empty`,
    `messages: those accepted after ${manifest.moment} are gone, although their senders got a 202. An identical retry is accepted as new`,
    ...webhookLines(manifest),
    'still to do: empty JetStream (the volume of NATS) if it was used before; start all services except the gateways, and run svc admin verify; start the gateways two minutes after the old ones stopped',
  ]
}

function webhookLines({ webhookKeys }: Manifest): string[] {
  const secrets = webhookKeys.reduce((sum, key) => sum + key.secrets, 0)
  if (secrets === 0) return []
  return [
    `secrets: none were in the backup. ${secrets} webhooks need the SVC_WEBHOOK_SECRET_KEY of the old system (key id ${webhookKeys.map(({ id }) => id).join(', ')})`,
  ]
}

function isFolder(path: string): boolean {
  return path.includes('/') || (existsSync(path) && statSync(path).isDirectory())
}
