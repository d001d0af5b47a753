/**
 * Postgres refuses to run as root. As root it is started under another user, who must reach its data and its program,
 * and both may lie under a folder that root alone can enter (a clone under /root).
 * Data: the process changes into its data folder while it is still root, and Postgres calls that `/proc/self/cwd`; it
 * never leaves it, so nothing above is ever walked. Program: where it cannot be run in place, a temporary copy.
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
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Mark } from './marks.ts'
import { StartError } from './start-error.ts'

/** Who runs Postgres; empty: whoever runs this. */
export interface PostgresUser {
  readonly uid?: number
  readonly gid?: number
}

/**
 * The owner of the cluster, or of the folder it will be made in, or `nobody` where that is root.
 * @throws StartError where the cluster is another's, or this is root on a system without /proc.
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
      `${cluster} belongs to root, as whom Postgres refuses to run: give it back to its user (chown -R).`,
    )
  }
  const { uid, gid } = existing ?? statSync(dirname(cluster))
  return uid === 0 ? findNobody() : { uid, gid }
}

/** What Postgres calls its data folder, given that it is started in there. */
export function dataPathFor(user: PostgresUser, cluster: string): string {
  return user.uid === undefined ? cluster : '/proc/self/cwd'
}

/**
 * The program, where `user` can run it: in place, or a copy in a temporary folder of this run.
 * @throws StartError where no place will do.
 */
export function placeProgram(postgres: string, user: PostgresUser, mark: Mark): string {
  if (user.uid === undefined || canRun(postgres, user)) return postgres
  for (const place of scratchPlaces()) {
    const copy = copyProgram(dirname(dirname(postgres)), join(place, `${scratchPrefix(mark)}${mark.run}`))
    if (copy !== undefined && canRun(copy, user)) return copy
  }
  throw new StartError(
    `The user that runs Postgres (uid ${user.uid}) can reach neither its program nor a copy: set TMPDIR to a folder open to all.`,
  )
}

/** Removes this run's copy, and those of dead runs of the same stack. */
export function removeScratch(mark: Mark): void {
  for (const place of scratchPlaces()) {
    for (const name of readdirIfThere(place)) {
      if (name.startsWith(scratchPrefix(mark))) rmSync(join(place, name), { recursive: true, force: true })
    }
  }
}

function scratchPlaces(): string[] {
  return [...new Set([tmpdir(), '/tmp', '/var/tmp'])]
}

function scratchPrefix({ stack }: Mark): string {
  return `svc-${stack}-`
}

/** One copy for all of a run; it appears whole, as several may make it at once. */
function copyProgram(source: string, target: string): string | undefined {
  const unfinished = `${target}.${randomBytes(4).toString('hex')}`
  try {
    if (!existsSync(target)) {
      copyForAll(source, unfinished)
      renameSync(unfinished, target)
    }
  } catch {
    // The place is full, or forbids it, or another was faster.
  }
  rmSync(unfinished, { recursive: true, force: true })
  return existsSync(target) ? join(target, 'bin', 'postgres') : undefined
}

function readdirIfThere(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function canRun(program: string, user: PostgresUser): boolean {
  return spawnSync(program, ['--version'], { ...user, cwd: '/', stdio: 'ignore' }).status === 0
}

/** Everything readable by all, whatever the umask; less the parts for building against Postgres. */
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
