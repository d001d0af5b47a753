/** An embedded Postgres: one process on a free port of the loopback address, with its data in `<folder>/postgres`. */
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { urlHost } from '@svc/config/host.ts'
import { type Child, type Ending, startChild } from '@svc/processes/child.ts'
import { commandLineOf, type Mark, markOf } from '@svc/processes/marks.ts'
import { removeFolder } from '@svc/processes/remove-folder.ts'
import { codeOf, StartError } from '../start-error.ts'
import { findPostgres } from './binaries.ts'
import { LOOPBACK } from './loopback.ts'
import { findFreePort } from './ports.ts'
import { choosePostgresUser, dataPathFor, type PostgresUser, placeProgram } from './postgres-user.ts'

interface PostgresOptions {
  folder: string
  mark: Mark
  /** The superuser's password in hexadecimal, set when the cluster is created. */
  password: string
  /** False in tests. A power failure may then lose data, but the death of a process cannot. */
  durable: boolean
  maxConnections: number
  sharedBuffersMib: number
  /** Settings of Postgres that replace the stack's own. */
  settings?: Readonly<Record<string, string | number>>
  /** The port of an earlier start; a free port by default. */
  port?: number
  /** Called with a line of Postgres's log that reports a problem. */
  onProblem: (line: string) => void
}

export interface Engine {
  /** With the operator's credentials. */
  readonly url: string
  readonly pid: number | undefined
  readonly ended: Promise<Ending>
  kill(signal: NodeJS.Signals): void
  stop(): Promise<Ending>
}

const SUPERUSER = 'postgres'
const START_ATTEMPTS = 10
const RETRY_MS = 300
const POLL_MS = 20
/** The status in the pid file. A standby answers reads. */
const SERVING = ['ready', 'standby']

/** @throws StartError if it cannot start, with a message that says what to do. */
export async function startPostgres(options: PostgresOptions): Promise<Engine> {
  const cluster = join(options.folder, 'postgres')
  const user = choosePostgresUser(cluster)
  const program = placeProgram(await findPostgres(), user, options.mark)
  checkVersion(cluster, await versionOf(program, user))
  if (!existsSync(cluster)) await createCluster(program, cluster, user, options)
  removeStalePidFile(cluster)
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await findFreePort())
    const started = await tryStart({ program, cluster, user }, port, options)
    if (started.child !== undefined) {
      const { child } = started
      const url = `postgres://${SUPERUSER}:${options.password}@${urlHost(LOOPBACK)}:${port}/postgres`
      return { url, pid: child.pid, ended: child.ended, kill: child.kill, stop: child.stop }
    }
    const lines = started.lines.join('\n')
    // Another program took the port first, or processes of a killed postmaster are still running.
    const passing = /could not bind|pre-existing shared memory block/.test(lines)
    if (!passing || attempt === START_ATTEMPTS) throw new StartError(explain(started.lines))
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
  }
}

/** Creates the cluster in a temporary folder and renames it when it is complete, so that a killed start leaves no partial cluster. */
async function createCluster(
  program: string,
  cluster: string,
  user: PostgresUser,
  { password, durable, mark, folder }: PostgresOptions,
): Promise<void> {
  for (const name of readdirSync(folder)) {
    if (/^postgres\.[0-9a-f]{8}$/.test(name)) await removeFolder(join(folder, name))
  }
  const unfinished = `${cluster}.${mark.run}`
  mkdirSync(unfinished, { mode: 0o700 })
  if (user.uid !== undefined && user.gid !== undefined) chownSync(unfinished, user.uid, user.gid)
  const place = { cwd: unfinished, ...user }
  const data = dataPathFor(user, unfinished)
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  // `trust` applies only to Unix sockets, which are never opened. The alternative, a password, would have to be in a file
  // for initdb.
  const access = [`--username=${SUPERUSER}`, '--auth-local=trust', '--auth-host=scram-sha-256']
  const sync = durable ? [] : ['--no-sync']
  try {
    await runToEnd(join(dirname(program), 'initdb'), ['-D', data, ...locale, ...access, ...sync], place)
    await runToEnd(program, ['--single', '-D', data, 'postgres'], {
      ...place,
      input: `alter role ${SUPERUSER} password '${password}'\n`,
    })
    renameSync(unfinished, cluster)
  } finally {
    await removeFolder(unfinished)
  }
}

/** @throws StartError with the output, unless the program succeeded. */
async function runToEnd(
  command: string,
  args: string[],
  options: PostgresUser & { cwd: string; input?: string },
): Promise<string[]> {
  const lines: string[] = []
  const child = startChild({
    ...options,
    name: 'postgres',
    command,
    args,
    env: ENVIRONMENT,
    onLine: (line) => lines.push(line),
  })
  const { code, reason } = await child.ended
  if (code === 0 && !lines.some((line) => FAILURE.test(line))) return lines
  throw new StartError(explain(lines.length > 0 ? lines : [reason]))
}

async function versionOf(program: string, user: PostgresUser): Promise<string> {
  const [line = ''] = await runToEnd(program, ['--version'], { ...user, cwd: '/' })
  return /(\d+)\./.exec(line)?.[1] ?? ''
}

function checkVersion(cluster: string, version: string): void {
  const file = join(cluster, 'PG_VERSION')
  const found = existsSync(file) ? readFileSync(file, 'utf8').trim() : version
  if (found === version) return
  throw new StartError(
    `The data in ${cluster} belongs to Postgres ${found}, but this is Postgres ${version}: move it away, or set SVC_DATA_DIR to another folder.`,
  )
}

/**
 * Postgres refuses to start while the process in its pid file exists. After a kill -9, that pid can belong to any process.
 * It can also be the dead Postgres itself: if its parent died too, it remains as a zombie, which has no command line. A
 * Postgres without a mark may be using this data, so its pid file is kept.
 */
function removeStalePidFile(cluster: string): void {
  const pid = readPidFile(cluster)?.pid
  const command = pid === undefined ? undefined : commandLineOf(pid)
  if (command === undefined) return
  if (!command.includes('postgres') || command.includes('cluster_name=svc:')) rmSync(join(cluster, 'postmaster.pid'))
}

async function tryStart(
  { program, cluster, user }: { program: string; cluster: string; user: PostgresUser },
  port: number,
  options: PostgresOptions,
): Promise<{ child?: Child; lines: string[] }> {
  const lines: string[] = []
  let ready = false
  const child = startChild({
    name: 'postgres',
    command: program,
    args: [
      '-D',
      dataPathFor(user, cluster),
      ...Object.entries(settingsFor(port, options)).map(([name, value]) => `--${name}=${value}`),
    ],
    env: ENVIRONMENT,
    cwd: cluster,
    ...user,
    onLine: (line) => {
      if (!ready) lines.push(line)
      else if (isProblem(line)) options.onProblem(line)
    },
  })
  let ended = false
  void child.ended.then(() => {
    ended = true
  })
  while (!ended) {
    const file = readPidFile(cluster)
    ready = file?.pid === child.pid && SERVING.includes(file?.status ?? '')
    if (ready) return { child, lines }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  const { reason } = await child.ended
  return { lines: lines.length > 0 ? lines : [reason] }
}

/** Reads the file as pg_ctl does: line 1 is the postmaster's pid, line 8 its status. */
function readPidFile(cluster: string): { pid: number; status: string | undefined } | undefined {
  try {
    const lines = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')
    return { pid: Number(lines[0]), status: lines[7]?.trim() }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function settingsFor(
  port: number,
  { mark, durable, maxConnections, sharedBuffersMib, settings }: PostgresOptions,
): Record<string, string | number> {
  return {
    cluster_name: markOf(mark, 'postgres'),
    listen_addresses: LOOPBACK,
    port,
    unix_socket_directories: '',
    max_connections: maxConnections,
    shared_buffers: `${sharedBuffersMib}MB`,
    // A 202 depends on this. Only tests run without fsync, because their data may be lost in a power failure.
    fsync: durable ? 'on' : 'off',
    synchronous_commit: 'on',
    // Enough WAL for pg_basebackup and for WAL archiving, and two connections for them. pg_hba.conf of initdb lets them in.
    // Tests need neither.
    wal_level: durable ? 'replica' : 'minimal',
    max_wal_senders: durable ? 4 : 0,
    // No processes for features that nothing uses.
    max_logical_replication_workers: 0,
    // Checkpoints are rare, because the first change of a page after a checkpoint writes the whole page to the WAL. Tests
    // keep the WAL small. It is not compressed: the packaged build has no lz4.
    checkpoint_timeout: '15min',
    max_wal_size: durable ? '2GB' : '1GB',
    // Statements are short and their data is in memory, so JIT, parallel workers and I/O workers would cost more than they
    // save.
    jit: 'off',
    max_parallel_workers_per_gather: 0,
    io_method: 'sync',
    random_page_cost: 1.1,
    timezone: 'UTC',
    lc_messages: 'C',
    log_line_prefix: '',
    log_min_messages: 'warning',
    log_checkpoints: 'off',
    // Statements can contain user data.
    log_min_error_statement: 'panic',
    ...settings,
  }
}

function isProblem(line: string): boolean {
  // Skips messages about disconnected clients and about the shutdown.
  return /^(WARNING|ERROR|FATAL|PANIC):/.test(line) && !/terminating connection|the database system is/.test(line)
}

/** Explains in one sentence why Postgres did not start. */
function explain(lines: string[]): string {
  const text = lines.join('\n')
  if (/ENOMEM|EAGAIN|cannot allocate memory|out of memory|could not map anonymous shared memory/i.test(text)) {
    return 'There is not enough free memory to start Postgres: end other programs, or give this one more.'
  }
  if (/no space left on device/i.test(text)) {
    return 'The disk is full, and Postgres cannot start: free some space, or set SVC_DATA_DIR to a folder on another disk.'
  }
  const failure = lines.find((line) => FAILURE.test(line)) ?? lines.at(-1) ?? 'it said nothing'
  return `Postgres does not start: ${failure.replace(FAILURE, '').trim()}.`
}

const FAILURE = /^(?:\S+: )?(?:error|ERROR|FATAL|PANIC):/
const ENVIRONMENT = { PATH: process.env.PATH, LC_ALL: 'C' }
