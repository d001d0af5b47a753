/**
 * `npx pnpm image <folder>` builds the image of the last commit, or of `--commit`, for linux/amd64 and linux/arm64, as an OCI
 * layout in the folder, and its bill of materials as `<folder>.cdx.json`, and prints its digest. The same commit gives the
 * same bytes. Needs `dpkg-deb`, GNU `tar`, `git` and `npm`, and no container engine. With `--or-newest` it uses the newest
 * packages of Debian if it cannot download the locked ones, for tests: the image is another one then.
 * `npx pnpm image --lock` writes the newest versions and hashes of Debian's packages and of Node into lock.json. Needs `apt-get`,
 * and Debian's keys (`debian-archive-keyring`).
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Package } from '@svc/build/packages.ts'
import { unpackApp, unpackNode } from './app.ts'
import { unpackDebian } from './debian.ts'
import { writeLayer } from './layer.ts'
import { type Architecture, type PlatformImage, writeLayout } from './layout.ts'
import { downloadLocked, type Lock, writeLock } from './lock.ts'
import { run } from './run.ts'
import { makeSbom } from './sbom.ts'

const ARCHITECTURES: readonly Architecture[] = ['amd64', 'arm64']
const REPOSITORY = fileURLToPath(new URL('../../../', import.meta.url))
const USAGE =
  'usage: npx pnpm image <folder> [--arch amd64|arm64] [--source <address of the sources>] [--commit <commit>] [--or-newest], or npx pnpm image --lock'

const CONFIG = {
  User: '65532:65532',
  Env: ['PATH=/usr/local/bin', 'NODE_ENV=production', 'SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt'],
  Entrypoint: ['/usr/local/bin/node'],
  Cmd: ['--version'],
  WorkingDir: '/app',
}

const work = mkdtempSync(join(tmpdir(), 'image-'))
try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      lock: { type: 'boolean' },
      'or-newest': { type: 'boolean', default: false },
      arch: { type: 'string', multiple: true },
      source: { type: 'string' },
      commit: { type: 'string' },
    },
  })
  const wanted = ARCHITECTURES.filter((architecture) => values.arch?.includes(architecture) ?? true)
  const [folder, ...others] = positionals
  if (values.lock === true) await writeLock(work)
  else if (folder === undefined || others.length > 0 || wanted.length === 0) throw new Error(USAGE)
  else console.log(await build(folder, wanted, { ...values, orNewest: values['or-newest'] }))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  rmSync(work, { recursive: true, force: true })
}

async function build(
  folder: string,
  architectures: readonly Architecture[],
  { source = 'unknown', commit: wanted = 'HEAD', orNewest }: { source?: string; commit?: string; orNewest: boolean },
): Promise<string> {
  const commit = (await run('git', ['rev-parse', '--verify', `${wanted}^{commit}`], { cwd: REPOSITORY })).trim()
  const epochSeconds = Number(await run('git', ['show', '--no-patch', '--format=%ct', commit], { cwd: REPOSITORY }))
  const manifest = readFileSync(join(REPOSITORY, 'package.json'), 'utf8')
  const { name, version, description } = JSON.parse(manifest) as Record<'name' | 'version' | 'description', string>
  mkdirSync(folder) // fails if the folder exists, so that nothing of an earlier build remains
  const lock = await downloadLocked(work, architectures, orNewest)
  const images: PlatformImage[] = []
  for (const architecture of architectures)
    images.push(await buildFor(folder, architecture, { commit, epochSeconds, lock }))
  const created = new Date(epochSeconds * 1_000).toISOString()
  const digest = await writeLayout(folder, images, {
    created,
    tag: version,
    config: CONFIG,
    labels: {
      'org.opencontainers.image.title': name,
      'org.opencontainers.image.description': description,
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.revision': commit,
      'org.opencontainers.image.source': source,
    },
  })
  const packages = JSON.parse(readFileSync(join(work, 'packages.json'), 'utf8')) as Package[]
  const sbom = await makeSbom({ name, version, digest, created }, { lock, architectures, packages })
  writeFileSync(`${folder}.cdx.json`, sbom)
  return digest
}

/** The layers that change least come first. They are written into the target folder, because moving them on the same disk is cheap. */
async function buildFor(
  folder: string,
  architecture: Architecture,
  { commit, epochSeconds, lock }: { commit: string; epochSeconds: number; lock: Lock },
): Promise<PlatformImage> {
  const given = { work, architecture, commit, node: lock.node, packages: lock.debian[architecture] }
  const layers: string[] = []
  for (const unpack of [unpackDebian, unpackNode, unpackApp]) {
    const root = join(work, `${architecture}-${unpack.name}`)
    await unpack(given, root)
    const layer = join(folder, `${architecture}-${unpack.name}.tar`)
    await writeLayer(root, layer, epochSeconds)
    rmSync(root, { recursive: true })
    layers.push(layer)
  }
  return { architecture, layers }
}
