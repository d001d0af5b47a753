import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ServiceName } from '@svc/local/topology.ts'

const SCRIPT = fileURLToPath(new URL('bundle-service.ts', import.meta.url))

/**
 * Bundles a service (bundle-service.ts), if no other test of the run has done so.
 * @param folder the folder of the run.
 * @returns the path of the bundle.
 */
export function bundleOf(service: ServiceName, folder: string): string {
  const bundles = join(folder, 'bundles')
  const path = join(bundles, service, 'main.mjs')
  const stdio = ['ignore', 'ignore', 'pipe'] as const
  if (!existsSync(path)) execFileSync(process.execPath, [SCRIPT, service, bundles], { stdio: [...stdio] })
  return path
}
