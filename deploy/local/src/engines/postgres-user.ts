/**
 * Postgres refuses to run as root. If root starts the stack, Postgres runs as another user, who must be able to reach its
 * data and its program. Both may be in a folder that only root can enter (a clone under /root). Data: the process changes
 * into its data folder while it is still root, and Postgres uses the path `/proc/self/cwd`. It never leaves that folder, so
 * it needs no access to the folders above. Program: if the user cannot run it in place, a temporary copy is made.
 */
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { Mark } from '@svc/processes/marks.ts'
import { scratchFolders } from '@svc/processes/scratch.ts'
import { StartError } from '../start-error.ts'

/** The user that runs Postgres. Empty: the user of this process. */
export interface PostgresUser {
  readonly uid?: number
  readonly gid?: number
}

/**
 * Chooses the owner of the cluster or, for a new cluster, the owner of its parent folder. If that is root, chooses
 * `nobody`.
 * @throws StartError if the cluster belongs to another user, or if this is root on a system without /proc.
 */
export function choosePostgresUser(cluster: string): PostgresUser {
  const self = process.getuid?.()
  const existing = statSync(cluster, { throwIfNoEntry: false })
  if (self !== 0) {
    if (existing !== undefined && existing.uid !== self) {
      throw new StartError(
        `${cluster} belongs to another user: start as that user, or set SVC_DATA_DIR to another folder.`,
      )
    }
    return {}
  }
  if (process.platform !== 'linux') {
    throw new StartError('Postgres refuses to run as root here: start as an ordinary user, or set SVC_DATABASE_URL.')
  }
  if (existing?.uid === 0) {
    throw new StartError(
      `${cluster} belongs to root, but Postgres refuses to run as root: give it back to its user (chown -R).`,
    )
  }
  const { uid, gid } = existing ?? statSync(dirname(cluster))
  return uid === 0 ? findNobody() : { uid, gid }
}

/** The path that Postgres uses for its data folder, if it starts inside that folder. */
export function dataPathFor(user: PostgresUser, cluster: string): string {
  return user.uid === undefined ? cluster : '/proc/self/cwd'
}

/**
 * Finds a path at which `user` can run the program: the original, or a copy in a temporary folder of this run.
 * @throws StartError if there is none.
 */
export function placeProgram(postgres: string, user: PostgresUser, mark: Mark): string {
  if (user.uid === undefined || canRun(postgres, user)) return postgres
  for (const folder of scratchFolders(mark)) {
    const copy = copyProgram(dirname(dirname(postgres)), folder)
    if (copy !== undefined && canRun(copy, user)) return copy
  }
  throw new StartError(
    `The user that runs Postgres (uid ${user.uid}) can reach neither its program nor a copy: set TMPDIR to a folder open to all.`,
  )
}

/** Makes one copy per run. It appears atomically, because several processes may make it at once. */
function copyProgram(source: string, target: string): string | undefined {
  const unfinished = `${target}.${randomBytes(4).toString('hex')}`
  try {
    if (!existsSync(target)) {
      copyForAll(source, unfinished)
      renameSync(unfinished, target)
    }
  } catch {
    // No space or no permission, or another process was faster.
  }
  rmSync(unfinished, { recursive: true, force: true })
  return existsSync(target) ? join(target, 'bin', 'postgres') : undefined
}

function canRun(program: string, user: PostgresUser): boolean {
  return spawnSync(program, ['--version'], { ...user, cwd: '/', stdio: 'ignore' }).status === 0
}

/** Copies with read permission for all, whatever the umask. Leaves out static libraries. */
function copyForAll(from: string, to: string): void {
  mkdirSync(to)
  chmodSync(to, 0o755)
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) copyForAll(source, target)
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target)
    else if (!entry.name.endsWith('.a')) {
      copyFileSync(source, target)
      chmodSync(target, 0o755)
    }
  }
}

function findNobody(): PostgresUser {
  const [, uid = 65534, gid = 65534] =
    /^nobody:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'))?.map(Number) ?? []
  return { uid, gid }
}
