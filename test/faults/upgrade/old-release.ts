/** An earlier revision of this repository. It is checked out and installed beside this tree, so that its own code runs. */
import { execFile } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { STORES } from '@svc/local/topology.ts'
import { startKeeper } from '@svc/processes/keep.ts'
import { createMark } from '@svc/processes/marks.ts'
import type { Release } from '../nemesis/fault-system.ts'

export interface OldRelease extends Release, AsyncDisposable {
  /** `18d0342 faults: threads and health are asked for too` */
  readonly title: string
  /** SQL files that are new or changed since the old release: `webhook/tables/0100_baseline.sql`. */
  readonly newSql: readonly string[]
  /** Replaces the NATS configuration by that of this tree, or of the old release. The caller must tell the server with this name to reload. */
  takeNatsConfig(of: 'this tree' | 'the old release', serverName: string): void
}

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const INSTALL = ['install', '--frozen-lockfile', '--ignore-scripts']
const INSTALL_LIMIT_MS = 300_000
const NATS_CONFIG = 'deploy/local/nats.conf'
const NATS_PATHS = ['deploy/nats', NATS_CONFIG]

/**
 * The code before the last commit that changed SQL, but not from before the last change of a baseline: an earlier database
 * would never get that change, because a baseline is run only once. @throws Error if the history does not go back that far.
 */
export async function revisionBeforeLastSql(): Promise<string> {
  const baseline = await lastCommit('services/*/database/tables/*_baseline.sql')
  const changed = await lastCommit('services/*/database/*.sql')
  const before = await git(['rev-parse', '--verify', '--quiet', `${changed}^`]).catch(() => {
    throw new Error('the history lacks the commit before the last change of SQL: fetch more history, or use --from')
  })
  const hasBaseline = await git(['merge-base', '--is-ancestor', baseline, before]).then(
    () => true,
    () => false,
  )
  return hasBaseline ? before : baseline
}

/** `a0fb16f test: what was done` */
export function titleOf(revision: string): Promise<string> {
  return git(['log', '-1', '--format=%h %s', revision, '--'])
}

/** @throws Error if the revision does not exist or its packages cannot be installed. */
export async function checkOut(revision: string): Promise<OldRelease> {
  const title = await titleOf(revision)
  await using started = new AsyncDisposableStack()
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-upgrade-')))
  // Remove the folder even if this process is killed. The next run then removes git's record of the folder.
  const keeper = await startKeeper(createMark(folder), folder)
  started.defer(async () => {
    await keeper.release()
    rmSync(folder, { recursive: true, force: true })
    await git(['worktree', 'prune'])
  })
  await git(['worktree', 'prune'])
  const root = join(folder, 'tree')
  await git(['worktree', 'add', '--detach', root, revision])
  await install(root)
  const natsRoot = join(folder, 'nats')
  copyNatsConfig(root, natsRoot)
  const rolesFile = pathToFileURL(join(root, 'deploy/local/src/engines/roles.ts'))
  const roles: typeof import('@svc/local/engines/roles.ts') = await import(rolesFile.href)
  const old = new Map(sqlFilesOf(root).map(({ file, text }) => [file, text]))

  const kept = started.move()
  return {
    title,
    // From its sources: it may be older than the build, or have another one.
    moduleOf: (service) => join(root, 'services', service, 'src/main.ts'),
    env: { NODE_COMPILE_CACHE: join(folder, 'compiled') },
    natsConfig: join(natsRoot, NATS_CONFIG),
    newSql: sqlFilesOf(ROOT).flatMap(({ file, text }) => (old.get(file) === text ? [] : [file])),
    async migrate(setup) {
      await roles.prepareRoles(setup)
      await roles.migrateStores({ ...setup, schemaDirOf: (store) => schemaDirIn(root, store) })
    },
    takeNatsConfig(of, serverName) {
      copyNatsConfig(of === 'this tree' ? ROOT : root, natsRoot)
      // the reload loses the server's name, which was an argument, and then refuses to change it
      appendFileSync(join(natsRoot, NATS_CONFIG), `server_name: "${serverName}"\n`)
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

function schemaDirIn(root: string, store: string): string {
  return join(root, 'services', store, 'database')
}

function sqlFilesOf(root: string): { file: string; text: string }[] {
  return STORES.flatMap((store) => {
    const dir = schemaDirIn(root, store)
    return readdirSync(dir, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.sql'))
      .toSorted()
      .map((path) => ({ file: `${store}/${path}`, text: readFileSync(join(dir, path), 'utf8') }))
  })
}

function copyNatsConfig(from: string, to: string): void {
  mkdirSync(join(to, 'deploy/local'), { recursive: true })
  for (const path of NATS_PATHS) cpSync(join(from, path), join(to, path), { recursive: true })
}

/** Installs packages, from the local store if possible. The engines of the old release are not used, so no install script runs. */
async function install(root: string): Promise<void> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm|pnpm)_/i.test(name)))
  const run = (args: readonly string[]) =>
    tell('pnpm', args, { cwd: root, env: { ...env, CI: 'true' }, timeout: INSTALL_LIMIT_MS })
  await run([...INSTALL, '--offline']).catch(() => run(INSTALL))
}

function lastCommit(paths: string): Promise<string> {
  return git(['log', '-1', '--format=%H', '--', paths])
}

function git(args: readonly string[]): Promise<string> {
  // git refuses a tree that belongs to another user, unless it is told to trust it
  return tell('git', ['-c', 'safe.directory=*', ...args], { cwd: ROOT })
}

/** @returns the output of the command. @throws Error with its error output. */
function tell(
  command: string,
  args: readonly string[],
  options: { cwd: string; env?: NodeJS.ProcessEnv; timeout?: number },
): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(command, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout.trim())
      else reject(new Error(`${command} ${args.join(' ')}: ${stderr.trim() || stdout.trim() || error.message}`))
    })
  })
}
