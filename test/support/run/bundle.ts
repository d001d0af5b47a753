import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findTestRun } from '../engines/engines.ts'

const SCRIPT = fileURLToPath(new URL('bundle-program.ts', import.meta.url))

/**
 * Bundles a program (bundle-program.ts), if no other test of the run has done so.
 * @param entry its module, relative to the root of the repository.
 * @param folder the folder of the run.
 * @returns the path of the bundle.
 */
export function bundleOf(entry: string, folder: string): string {
  const place = join(folder, 'bundles', entry.replaceAll('/', '-'))
  const path = join(place, 'main.mjs')
  if (!existsSync(path)) execFileSync(process.execPath, [SCRIPT, entry, place], { stdio: ['ignore', 'ignore', 'pipe'] })
  return path
}

/** Bundles the command `svc`. @returns the path of its module. */
export async function findSvc(): Promise<string> {
  return bundleOf('clients/cli/src/main.ts', (await findTestRun()).folder)
}
