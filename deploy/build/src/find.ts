import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { hashOfSources, ROOT } from './sources.ts'

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))
const KEPT_MS = 7 * 24 * 60 * 60 * 1_000

/**
 * Finds the build of the present sources, and makes it first if there is none.
 * @param builds has a folder for each state of the sources, so that the next build does not disturb what runs from an earlier one.
 * @returns its folder, such as `<folder>/gateway.js`.
 * @throws Error with the bundler's message if the sources are wrong.
 */
export async function findBuild(builds: string = join(ROOT, 'node_modules/.cache/builds')): Promise<string> {
  const folder = join(builds, hashOfSources())
  if (!existsSync(folder)) {
    removeUnused(builds)
    const own = `${folder}.${randomUUID()}`
    try {
      // In a process of its own, so that the bundler takes no memory of the caller.
      await promisify(execFile)(process.execPath, [MAIN, own])
      renameSync(own, folder)
    } catch (error) {
      if (!existsSync(folder)) throw error // otherwise another process was faster, with the same files
    } finally {
      rmSync(own, { recursive: true, force: true })
    }
  }
  const now = new Date()
  utimesSync(folder, now, now)
  return folder
}

function removeUnused(builds: string): void {
  mkdirSync(builds, { recursive: true })
  for (const name of readdirSync(builds)) {
    const path = join(builds, name)
    if (Date.now() - statSync(path).mtimeMs > KEPT_MS) rmSync(path, { recursive: true, force: true })
  }
}
