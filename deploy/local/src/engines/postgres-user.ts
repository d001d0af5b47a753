/**
 * Which user runs Postgres, and how that user reaches the data and the program.
 *
 * Usually it is the user of this process, and nothing is to be done. But Postgres refuses to run as root. So if root starts the
 * stack, Postgres runs as another user, and that user may not be allowed to enter the folders above (a clone under /root):
 *
 * - **Data.** The process enters the data folder while it is still root, and only then becomes the other user. It stays there,
 *   and Postgres calls its data folder `/proc/self/cwd`. So it never passes through the folders above.
 * - **Program.** If the user cannot run the program where it is, it runs a copy in a temporary folder.
 */
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Mark } from '@svc/processes/marks.ts'
import { scratchFolders } from '@svc/processes/scratch.ts'
import { StartError } from '../start-error.ts'

/** The user that runs Postgres. Without ids: the user of this process. */
export interface PostgresUser {
  readonly uid?: number
  readonly gid?: number
}

/**
 * Chooses the user for a cluster. If root starts the stack, it is the owner of the cluster or, for a new cluster, of its parent
 * folder. If that folder belongs to root, it is `nobody`.
 * @throws StartError if the cluster belongs to another user, or if this is root on a system without /proc.
 */
export function choosePostgresUser(cluster: string): PostgresUser {
  const self = process.getuid?.()
  const existing = statSync(cluster, { throwIfNoEntry: false })
  if (self === 0) return chooseForRoot(cluster, existing)
  if (existing !== undefined && existing.uid !== self) {
    throw new StartError(
      `${cluster} belongs to another user: start as that user, or set SVC_DATA_DIR to another folder.`,
    )
  }
  return {}
}

function chooseForRoot(cluster: string, existing: Required<PostgresUser> | undefined): PostgresUser {
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

function findNobody(): PostgresUser {
  const [, uid, gid] = /^nobody:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8')) ?? []
  return { uid: Number(uid ?? 65_534), gid: Number(gid ?? 65_534) }
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

function canRun(program: string, user: PostgresUser): boolean {
  return spawnSync(program, ['--version'], { ...user, cwd: '/', stdio: 'ignore' }).status === 0
}

/**
 * Copies the program and its libraries, readable for all, whatever the umask. Several processes may do so at once, so the copy
 * appears atomically, and the first one stays.
 * @returns the program; undefined if this folder cannot take it.
 */
function copyProgram(source: string, target: string): string | undefined {
  const unfinished = `${target}.${randomBytes(4).toString('hex')}`
  try {
    if (!existsSync(target)) {
      const isNeeded = (path: string): boolean => !path.endsWith('.a')
      cpSync(source, unfinished, { recursive: true, verbatimSymlinks: true, filter: isNeeded })
      spawnSync('chmod', ['-R', 'a+rX', unfinished])
      renameSync(unfinished, target)
    }
  } catch {
    // No space or no permission, or another process was faster.
  }
  rmSync(unfinished, { recursive: true, force: true })
  return existsSync(target) ? join(target, 'bin', 'postgres') : undefined
}
