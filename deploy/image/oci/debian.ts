/** The libraries that Node needs, from Debian packages whose hashes are locked. */
import { createHash } from 'node:crypto'
import { appendFileSync, globSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Architecture } from './layout.ts'
import { run } from './run.ts'

export interface DebianPackage {
  readonly name: string
  readonly version: string
  /** Below `ARCHIVE`. */
  readonly path: string
  /** snapshot.debian.org keeps every file under it. */
  readonly sha1: string
  readonly sha256: string
}

/** What the image is made of, whatever this machine runs. */
const RELEASE = 'trixie'
export const RELEASE_NUMBER = 13
const ARCHIVE = 'http://deb.debian.org'
const SNAPSHOT = 'https://snapshot.debian.org/file'
const LIMIT_MS = 120_000
/** glibc and the C++ library, which Node and libsodium's binding need, and the certificates of authorities. */
const NAMES = ['ca-certificates', 'libc6', 'libgcc-s1', 'libstdc++6']

/** Finds the newest versions, by APT and the keys of Debian on this machine, without changing the machine, and downloads them. */
export async function lockPackages(work: string, architecture: Architecture): Promise<DebianPackage[]> {
  const folder = join(work, `apt-${architecture}`)
  for (const path of ['state/lists/partial', 'cache/archives/partial'])
    mkdirSync(join(folder, path), { recursive: true })
  writeFileSync(join(folder, 'status'), '')
  writeFileSync(
    join(folder, 'sources.list'),
    [`debian ${RELEASE}`, `debian ${RELEASE}-updates`, `debian-security ${RELEASE}-security`]
      .map((suite) => `deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${ARCHIVE}/${suite} main\n`)
      .join(''),
  )
  const options = [
    `Dir::Etc::sourcelist=${folder}/sources.list`,
    'Dir::Etc::sourceparts=/dev/null',
    `Dir::State=${folder}/state`,
    `Dir::State::status=${folder}/status`,
    `Dir::Cache=${folder}/cache`,
    `APT::Architecture=${architecture}`,
    `APT::Architectures=${architecture}`,
    'APT::Sandbox::User=root',
  ].flatMap((option) => ['-o', option])
  await run('apt-get', [...options, '--error-on=any', 'update'])
  const lines = await run('apt-get', [...options, 'download', '--print-uris', ...NAMES])
  // 'http://deb.debian.org/debian/pool/…' <name>_<version>_<architecture>.deb <bytes> SHA256:<hash>
  const found = [...lines.matchAll(/^'http:\/\/[^/]+\/(\S+)' ([^_]+)_([^_]+)_\S+ \d+ SHA256:(\w+)$/gm)]
  if (found.length !== NAMES.length) throw new Error(`apt-get download --print-uris printed\n${lines}`)
  const packages = found.map(([, path = '', name = '', version = '', sha256 = '']) => ({
    ...{ name, version: decodeURIComponent(version), path: decodeURIComponent(path), sha1: '', sha256 },
  }))
  await downloadPackages(work, packages)
  return packages
    .map((one) => ({ ...one, sha1: hashOf('sha1', readFileSync(fileOf(work, one))) }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** @throws Error if a package is neither in the archive nor in its past. */
export async function downloadPackages(work: string, packages: readonly DebianPackage[]): Promise<void> {
  for (const one of packages) writeFileSync(fileOf(work, one), await download(one))
}

async function download({ name, version, path, sha1, sha256 }: DebianPackage): Promise<Uint8Array> {
  const problems: string[] = []
  for (const url of [`${ARCHIVE}/${path}`, `${SNAPSHOT}/${sha1}`]) {
    try {
      const answer = await fetch(url, { signal: AbortSignal.timeout(LIMIT_MS) })
      const bytes = await answer.bytes()
      if (answer.ok && hashOf('sha256', bytes) === sha256) return bytes
      problems.push(`${url}: ${answer.ok ? 'its content is not the locked one' : `status ${answer.status}`}`)
    } catch (error) {
      problems.push(`${url}: ${error instanceof Error ? (error.cause ?? error.message) : error}`)
    }
  }
  throw new Error(
    [
      `${name} ${version}, which lock.json names, cannot be downloaded:`,
      ...problems,
      `If Debian has replaced it and snapshot.debian.org cannot be reached, run npx pnpm image --lock, and commit lock.json.`,
    ].join('\n'),
  )
}

/** Unpacks the downloaded packages and creates the few files that installing them would create. */
export async function unpackDebian(
  { work, architecture, packages }: { work: string; architecture: Architecture; packages: readonly DebianPackage[] },
  root: string,
): Promise<void> {
  mkdirSync(join(root, 'usr/lib'), { recursive: true })
  // The packages have files only below /usr, and programs look for the dynamic linker here.
  symlinkSync('usr/lib', join(root, 'lib'))
  if (architecture === 'amd64') symlinkSync('usr/lib64', join(root, 'lib64'))
  for (const one of packages) await run('dpkg-deb', ['--extract', fileOf(work, one), root])
  trim(root)
  writeFixedFiles(root)
}

/** Files that nobody reads in a container without a shell. */
function trim(root: string): void {
  for (const path of [
    'usr/share/doc',
    'usr/share/man',
    'usr/share/lintian',
    'usr/share/gcc',
    'usr/share/gdb',
    'usr/sbin',
    'etc/ca-certificates',
    'etc/ld.so.conf.d/fakeroot*',
    'usr/lib/*/gconv',
    'usr/lib/*/audit',
  ])
    for (const found of globSync(path, { cwd: root })) rmSync(join(root, found), { recursive: true })
}

function writeFixedFiles(root: string): void {
  const authorities = globSync('usr/share/ca-certificates/**/*.crt', { cwd: root }).toSorted()
  mkdirSync(join(root, 'etc/ssl/certs'), { recursive: true })
  const bundle = join(root, 'etc/ssl/certs/ca-certificates.crt')
  writeFileSync(bundle, '')
  for (const file of authorities) appendFileSync(bundle, `${readFileSync(join(root, file), 'utf8').trimEnd()}\n`)
  rmSync(join(root, 'usr/share/ca-certificates'), { recursive: true })
  writeFileSync(
    join(root, 'etc/passwd'),
    'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n',
  )
  writeFileSync(join(root, 'etc/group'), 'root:x:0:\nnonroot:x:65532:\n')
  // Look into files first: `localhost` and the entries of a container runtime must not be looked up at a name server.
  writeFileSync(join(root, 'etc/nsswitch.conf'), 'hosts: files dns\n')
  mkdirSync(join(root, 'tmp'))
  mkdirSync(join(root, 'app'))
}

function fileOf(work: string, { sha256 }: DebianPackage): string {
  return join(work, `${sha256}.deb`)
}

function hashOf(algorithm: 'sha1' | 'sha256', bytes: Uint8Array): string {
  return createHash(algorithm).update(bytes).digest('hex')
}
