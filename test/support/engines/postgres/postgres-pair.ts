/** Two Postgres servers with streaming replication, for tests and measurements of a failover. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Engine, startPostgres } from '@svc/local/engines/postgres.ts'
import { databaseUrl } from '@svc/local/engines/roles.ts'
import postgres from 'postgres'
import { eventually } from '../../eventually.ts'
import { createMigrated, type TestDatabase } from '../database.ts'
import { findTestRun, takePorts } from '../engines.ts'
import { takeBaseBackup } from './base-backup.ts'

export interface PostgresPair extends AsyncDisposable {
  /** Migrated. The URLs of its roles name both servers; the superuser's is of the primary. */
  readonly database: TestDatabase
  /** Sends SIGKILL. */
  killPrimary(): Promise<void>
  /** Sends SIGSTOP to all of its processes, as if its machine were gone: connections stay open, and nothing answers. Linux and macOS. */
  freezePrimary(): void
  /** Ends the sessions of clients, and waits until the standby has received the whole WAL. */
  stopPrimary(): Promise<void>
  /** Promotes the standby. The primary must have ended or be frozen. */
  promote(): Promise<void>
  /** Ends the old primary if it still runs, and starts it as a copy of the new one, at its old address. Commits then wait for it. */
  rejoin(): Promise<void>
}

interface Server {
  readonly name: string
  readonly folder: string
  readonly port: number
  engine?: Engine
}

const NAME = 'svc'

/** @param options.durable whether the servers sync to disk. */
export async function startPostgresPair({ durable = false } = {}): Promise<PostgresPair> {
  await using started = new AsyncDisposableStack()
  const { folder: runFolder, mark } = await findTestRun()
  const folder = join(runFolder, `pair-${randomBytes(6).toString('hex')}`)
  started.defer(() => rmSync(folder, { recursive: true, force: true }))
  const password = randomBytes(16).toString('hex')
  const firstPort = await takePorts(2)
  const [one, two] = ['one', 'two'].map((name, at): Server => {
    mkdirSync(join(folder, name), { recursive: true })
    return { name, folder: join(folder, name), port: firstPort + at }
  }) as [Server, Server]
  let [primary, standby] = [one, two]
  started.defer(async () => void (await Promise.all([one, two].map(({ engine }) => engine?.stop()))))
  let frozen: number[] = []
  const endFrozen = (): void => {
    for (const pid of frozen) process.kill(pid, 'SIGKILL')
    frozen = []
  }
  started.defer(endFrozen)

  const start = async (server: Server, settings: Record<string, string> = {}): Promise<void> => {
    const { folder: at, port } = server
    const own = { folder: at, port, mark, password, durable, maxConnections: 150, sharedBuffersMib: 32 }
    const replication = { wal_level: 'replica', max_wal_senders: 4, wal_keep_size: '256MB', ...settings }
    server.engine = await startPostgres({ ...own, settings: replication, onProblem: () => {} })
  }
  const adminUrl = (): string => databaseUrl(primary.engine?.url ?? '', NAME)
  const follow = async (): Promise<void> => {
    const paths = { from: join(primary.folder, 'postgres'), to: join(standby.folder, 'postgres') }
    await takeBaseBackup(adminUrl(), { ...paths, signal: 'standby' })
    const login = `host=127.0.0.1 port=${primary.port} user=postgres password=${password}`
    await start(standby, { primary_conninfo: `${login} application_name=${standby.name}` })
    await waitForStandby(adminUrl(), standby.name)
  }

  await start(primary)
  const { urlFor } = await createMigrated(primary.engine?.url ?? '', NAME)
  await follow()

  const bothHosts = `127.0.0.1:${one.port},127.0.0.1:${two.port}`
  const running = started.move()
  return {
    database: {
      get adminUrl() {
        return adminUrl()
      },
      urlFor: (role) => urlFor(role).replace(/127\.0\.0\.1:\d+/, bothHosts),
      [Symbol.asyncDispose]: () => running.disposeAsync(),
    },
    async killPrimary() {
      primary.engine?.kill('SIGKILL')
      await primary.engine?.ended
    },
    freezePrimary() {
      frozen = withChildren(primary.engine?.pid)
      for (const pid of frozen) process.kill(pid, 'SIGSTOP')
    },
    async stopPrimary() {
      await primary.engine?.stop()
    },
    async promote() {
      ;[primary, standby] = [standby, primary]
      const sql = postgres(adminUrl(), { max: 1 })
      await sql`select pg_promote()`
      await sql.end()
    },
    async rejoin() {
      endFrozen()
      await standby.engine?.ended
      await follow()
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

function withChildren(parent: number | undefined): number[] {
  if (parent === undefined) return []
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  const processes = lines.map((line) => line.trim().split(/\s+/).map(Number))
  return [parent, ...processes.flatMap(([pid, ppid]) => (ppid === parent && pid !== undefined ? [pid] : []))]
}

/** From now on, a commit returns only after this standby has written it to disk too. */
async function waitForStandby(adminUrl: string, name: string): Promise<void> {
  const sql = postgres(adminUrl, { max: 1 })
  try {
    await sql.unsafe(`alter system set synchronous_standby_names = '${name}'`)
    await sql`select pg_reload_conf()`
    const isSynchronous = async (): Promise<boolean> =>
      (await sql`select from pg_stat_replication where application_name = ${name} and sync_state = 'sync'`).length === 1
    await eventually(isSynchronous, { what: `${name} being the synchronous standby` })
  } finally {
    await sql.end()
  }
}
