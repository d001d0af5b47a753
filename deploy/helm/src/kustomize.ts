import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const require = createRequire(import.meta.url)

/**
 * The output of `kustomize build` for a folder.
 * @throws Error with kustomize's message.
 */
export function buildKustomization(folder: string): string {
  const kustomize = join(dirname(require.resolve('kustomize/package.json')), 'run.js')
  return execFileSync(process.execPath, [kustomize, 'build', folder], { encoding: 'utf8', maxBuffer: 64 << 20 })
}
