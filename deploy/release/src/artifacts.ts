import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SERVICE } from '@svc/contracts/limits.ts'
import { writeChart } from '@svc/helm/chart.ts'
import { runProgram as runHelm } from '@svc/helm/programs.ts'

export const ROOT: string = fileURLToPath(new URL('../../..', import.meta.url))
export const FOLDER: string = join(ROOT, 'built/release')

interface Artifact {
  /** Path in the folder. */
  readonly name: string
  readonly bytes: number
  /** SHA-256 of the file, or the digest of the image. */
  readonly sum: string
}

/**
 * Makes everything anew in `FOLDER`: the image of the last commit, its bill of materials, its digest, the packages, the
 * chart, the manifests, and `SHA256SUMS` of all but the image.
 * @param source the address of the sources, for the image.
 */
export function makeArtifacts(source = 'unknown'): { digest: string; files: Artifact[] } {
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  const digest = runProgram('deploy/image/oci/main.ts', join(FOLDER, 'image'), '--source', source).trim()
  writeFileSync(join(FOLDER, 'image.digest'), `${digest}\n`)
  runProgram('deploy/npm/src/main.ts')
  const packed = join(ROOT, 'deploy/npm/packed')
  for (const { name } of readdirSync(packed, { withFileTypes: true }).filter((entry) => entry.isFile()))
    copyFileSync(join(packed, name), join(FOLDER, name))
  packChart()
  packManifests()
  const paths = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(FOLDER, path)).isFile())
    .toSorted()
  const files = paths.filter((path) => !path.startsWith('image/')).map(artifactOf)
  writeFileSync(join(FOLDER, 'SHA256SUMS'), files.map(({ name, sum }) => `${sum}  ${name}\n`).join(''))
  const bytes = paths
    .filter((path) => path.startsWith('image/'))
    .reduce((total, path) => total + statSync(join(FOLDER, path)).size, 0)
  return { digest, files: [{ name: 'image', bytes, sum: digest }, ...files, artifactOf('SHA256SUMS')] }
}

function packChart(): void {
  const work = mkdtempSync(join(tmpdir(), 'chart-'))
  writeChart(join(work, 'chart'))
  runHelm('helm', ['package', join(work, 'chart'), '--destination', FOLDER])
  rmSync(work, { recursive: true })
}

/** The manifests, with the files of other folders that they read. */
function packManifests(): void {
  const name = `manifests-${SERVICE.version}`
  const folders = ['deploy/kubernetes', 'deploy/nats', 'deploy/observability']
  const file = join(FOLDER, `${name}.tar.gz`)
  execFileSync('git', ['archive', `--prefix=${name}/`, '--output', file, 'HEAD', ...folders], { cwd: ROOT })
}

/**
 * Reads the files that `makeArtifacts` has made, perhaps on another machine. The digest is not checked here: it names the image, so a
 * registry refuses other bytes.
 * @throws Error if a file is not what SHA256SUMS says.
 */
export function readArtifacts(): { digest: string; files: readonly { readonly name: string }[] } {
  const lines = readFileSync(join(FOLDER, 'SHA256SUMS'), 'utf8').trim().split('\n')
  const files = lines.map((line) => {
    const [sum, name = ''] = line.split('  ')
    const artifact = artifactOf(name)
    if (artifact.sum !== sum) throw new Error(`${name} does not have the sum in SHA256SUMS: make the release again`)
    return artifact
  })
  return {
    digest: readFileSync(join(FOLDER, 'image.digest'), 'utf8').trim(),
    files: [...files, artifactOf('SHA256SUMS')],
  }
}

/** @returns what it printed; its errors are shown. */
function runProgram(path: string, ...args: string[]): string {
  return execFileSync(process.execPath, [path, ...args], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

function artifactOf(name: string): Artifact {
  const content = readFileSync(join(FOLDER, name))
  return { name, bytes: content.length, sum: createHash('sha256').update(content).digest('hex') }
}
