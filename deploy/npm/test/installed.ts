/** A folder of a user who has npm, but nothing of this repository. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { buildPackage } from '@svc/npm/build.ts'
import { PACKAGES } from '@svc/npm/packages.ts'

const run = promisify(execFile)
const INSTALL_LIMIT_MS = 240_000

export interface Packed {
  /** Folder in the repository. */
  readonly from: string
  /** The folder that was packed. */
  readonly folder: string
  readonly tarball: string
  /** Paths in the tarball. */
  readonly files: readonly string[]
}

/** Builds and packs every package, with npm. */
export async function packAll(folder: string): Promise<Packed[]> {
  const packed: Packed[] = []
  for (const published of PACKAGES) {
    const built = join(folder, published.folder)
    buildPackage(published, built)
    const { stdout } = await npm(['pack', '--json', '--pack-destination', folder], built)
    // Some versions return an array, others an object by name.
    const [{ filename, files }] = Object.values(JSON.parse(stdout)) as [{ filename: string; files: { path: string }[] }]
    const tarball = join(folder, filename.replace('@', '').replace('/', '-'))
    packed.push({ from: published.folder, folder: built, tarball, files: files.map(({ path }) => path) })
  }
  return packed
}

/** @param specifiers tarballs, and names of packages. @returns the folder. */
export async function installAlone(parent: string, name: string, specifiers: readonly string[]): Promise<string> {
  const folder = join(parent, name)
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  await npm(['install', '--no-audit', '--no-fund', '--prefer-offline', ...specifiers], folder)
  return folder
}

/** Whether a registry can be reached. If not, tests that install external packages cannot run. */
export async function hasRegistry(): Promise<boolean> {
  return npm(['ping'], tmpdir()).then(
    () => true,
    () => false,
  )
}

export function temporaryFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'svc-npm-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

/** The environment of a shell that finds this Node. It lacks the variables that pnpm adds for scripts. */
export function environment(): Record<string, string> {
  const kept = Object.entries(process.env).filter(([name]) => !/^(npm_|pnpm_|NODE_OPTIONS$)/i.test(name))
  return { ...Object.fromEntries(kept), PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` }
}

function npm(args: string[], cwd: string): Promise<{ stdout: string; stderr: string }> {
  return run('npm', args, { cwd, env: environment(), timeout: INSTALL_LIMIT_MS, maxBuffer: 16 * 1024 * 1024 })
}
