/**
 * Builds what is started, tested and shipped: one module for each program, the SQL of each service, the console, and the few packages
 * that cannot be bundled. The same sources give the same bytes.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { stop } from 'esbuild'
import { buildConsole } from './console.ts'
import { buildPackages, buildPrograms } from './programs.ts'
import { hashOfSources, ROOT } from './sources.ts'

/** One folder for each state of the sources. A system that runs from one is not disturbed by the next build. */
const BUILDS = join(ROOT, 'node_modules/.cache/builds')
const KEPT_MS = 7 * 24 * 60 * 60 * 1_000

/** Builds into an empty or missing folder. @param platform of the native binding: `linux-arm64`. */
export async function buildInto(folder: string, platform = `${process.platform}-${process.arch}`): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ name: 'svc', version, type: 'module' })}\n`)
  copy(folder, 'services/gateway/src/api/reference')
  for (const service of readdirSync(join(ROOT, 'services'))) copy(folder, `services/${service}/database`)
  try {
    await Promise.all([
      buildPrograms(folder),
      buildPackages(folder, platform),
      buildConsole(join(folder, 'clients/console/built')),
    ])
  } finally {
    await stop()
  }
}

/** @returns the folder of the build of the present sources, which is made if there is none. */
export async function findBuild(): Promise<string> {
  const folder = join(BUILDS, hashOfSources())
  if (!existsSync(folder)) {
    removeUnused()
    const own = `${folder}.${randomUUID()}`
    try {
      await buildInto(own)
      renameSync(own, folder)
    } catch (error) {
      if (!existsSync(folder)) throw error // another process was faster, with the same files
    } finally {
      rmSync(own, { recursive: true, force: true })
    }
  }
  const now = new Date()
  utimesSync(folder, now, now)
  return folder
}

function removeUnused(): void {
  const builds = existsSync(BUILDS) ? readdirSync(BUILDS).map((name) => join(BUILDS, name)) : []
  for (const build of builds)
    if (Date.now() - statSync(build).mtimeMs > KEPT_MS) rmSync(build, { recursive: true, force: true })
}

function copy(folder: string, path: string): void {
  if (existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(folder, path), { recursive: true })
}
