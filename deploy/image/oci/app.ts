/** The layers above Debian's libraries: Node, and the services with their packages. */
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Architecture } from './layout.ts'
import { run } from './run.ts'

const REPOSITORY = fileURLToPath(new URL('../../../', import.meta.url))
/** A newer one could write other files. Not `packageManager` in package.json: pnpm fails if it cannot switch to that version. */
export const PNPM = 'pnpm@12.21.0'
const NPM_NAMES: Readonly<Record<Architecture, string>> = { amd64: 'x64', arm64: 'arm64' }

export interface NodeBinary {
  readonly version: string
  /** A hash as in npm's lockfile: `sha512-…`. */
  readonly integrity: Readonly<Record<Architecture, string>>
}

/** @returns the archive of the package that holds Node for the architecture, and its hash. */
async function packNode(
  work: string,
  architecture: Architecture,
  version: string,
): Promise<[file: string, integrity: string]> {
  const name = `node-linux-${NPM_NAMES[architecture]}`
  await run('npm', ['pack', `${name}@${version}`, '--pack-destination', work])
  const file = join(work, `${name}-${version}.tgz`)
  return [file, `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`]
}

export async function lockNode(work: string, version: string): Promise<NodeBinary> {
  const [[, amd64], [, arm64]] = await Promise.all([packNode(work, 'amd64', version), packNode(work, 'arm64', version)])
  return { version, integrity: { amd64, arm64 } }
}

/** @throws Error if the archive does not match its hash. */
export async function unpackNode(
  { work, architecture, node }: { work: string; architecture: Architecture; node: NodeBinary },
  root: string,
): Promise<void> {
  const [file, integrity] = await packNode(work, architecture, node.version)
  if (integrity !== node.integrity[architecture])
    throw new Error(`node ${node.version} for ${architecture} is ${integrity}, but lock.json has another hash`)
  const folder = join(work, `node-${architecture}`)
  mkdirSync(folder)
  await run('tar', ['--extract', '--gzip', '--file', file, '--directory', folder, 'package/bin/node'])
  mkdirSync(join(root, 'usr/local/bin'), { recursive: true })
  copyFileSync(join(folder, 'package/bin/node'), join(root, 'usr/local/bin/node'))
}

/** Builds the committed sources for the architecture, on this machine. */
export async function unpackApp(
  { work, architecture, commit }: { work: string; architecture: Architecture; commit: string },
  root: string,
): Promise<void> {
  const sources = join(work, `sources-${architecture}`)
  mkdirSync(sources)
  const archive = `${sources}.tar`
  await run('git', ['archive', '--output', archive, commit], { cwd: REPOSITORY })
  await run('tar', ['--extract', '--file', archive, '--directory', sources])
  const filters = ['{./services/*}...', '{./clients/*}...', '@svc/build...', '@svc/image...'].flatMap((name) => [
    '--filter-prod',
    name,
  ])
  // The package `node` would download a binary for this machine by itself.
  const install = ['--yes', PNPM, 'install', '--frozen-lockfile', '--prod', '--ignore-scripts', ...filters]
  await run('npx', install, { cwd: sources })
  const app = join(root, 'app')
  const platform = `linux-${NPM_NAMES[architecture]}`
  await run(process.execPath, ['deploy/build/src/main.ts', app, platform], { cwd: sources })
  copyFileSync(join(app, 'packages.json'), join(work, 'packages.json')) // the same for every architecture
}
