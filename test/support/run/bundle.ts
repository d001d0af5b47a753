import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ServiceName } from '@svc/local/topology.ts'

const SCRIPT = fileURLToPath(new URL('bundle-service.ts', import.meta.url))

/**
 * The first test of a run that asks for it makes it (bundle-service.ts).
 * @param folder the run's.
 * @returns the path of the one module that has all of a service's code.
 */
export function bundleOf(service: ServiceName, folder: string): string {
  const bundles = join(folder, 'bundles')
  const path = join(bundles, service, 'main.mjs')
  const stdio = ['ignore', 'ignore', 'pipe'] as const
  if (!existsSync(path)) execFileSync(process.execPath, [SCRIPT, service, bundles], { stdio: [...stdio] })
  return path
}
