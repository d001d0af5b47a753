import type { Command } from 'commander'
import type { ExitCode } from '../../exit-codes.ts'
import type { Io } from '../../io.ts'
import { addAudit } from './audit.ts'
import { addBackup } from './backup.ts'
import { addDrill } from './drill.ts'
import { addErase } from './erase.ts'
import { addGrant } from './grant.ts'
import { addJobs } from './jobs.ts'
import { addPurge } from './purge.ts'
import { addRaiseHeads } from './raise-heads.ts'
import { addRestore } from './restore.ts'
import { addStatus } from './status.ts'
import { addSuspend } from './suspend.ts'
import { addTakedown } from './takedown.ts'
import { addVerify } from './verify.ts'

export function addAdmin(program: Command, io: Io, setExitCode: (code: ExitCode) => void): void {
  const group = program
    .command('admin')
    .description(
      'for the operator: status, credits, suspension, takedown, erasure, webhook jobs, purge, books, backups, audit',
    )
    .option('--nats-url <url>', 'nats://user:password@host:port')
    .addHelpText(
      'after',
      `
NATS is found by --nats-url, by SVC_NATS_URL, or by the data folder (SVC_DATA_DIR, .data) of a local stack that runs.
The other SVC_NATS_… variables of the services work here as well: certificates, and logins in files. backup, restore and drill
need Postgres instead: --database-url, SVC_DATABASE_URL, or the data folder.
The user of the login is your name as an operator. Every change is recorded with it (svc admin audit), and needs a --reason.
You may repeat each command: work that was done is not done again. Commands that change something have --dry-run.

Examples:
  svc admin status --watch
  svc admin grant <agent_id> 500 invoice-2026-17 --reason 'paid'
  svc admin suspend <agent> --reason 'spam' --until 24h
  svc admin verify`,
    )
  const admin = { group, io, setExitCode }
  addStatus(admin)
  addGrant(admin)
  addSuspend(admin)
  addJobs(admin)
  addPurge(admin)
  addVerify(admin)
  addRaiseHeads(admin)
  addErase(admin)
  addTakedown(admin)
  addAudit(admin)
  addBackup(admin)
  addRestore(admin)
  addDrill(admin)
}
