/** The libraries that Node needs, from Debian packages whose versions and hashes are locked. */
import { createHash } from 'node:crypto'
import { appendFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Architecture } from './layout.ts'
import { run } from './run.ts'

export interface DebianPackage {
  readonly name: string
  readonly version: string
  readonly sha256: string
}

/** glibc and the C++ library, which Node and libsodium's binding need, and the certificates of authorities. */
const NAMES = ['ca-certificates', 'libc6', 'libgcc-s1', 'libstdc++6']

/**
 * Downloads packages of any architecture from the APT sources of this machine, without changing the machine.
 * @param wanted names, or `<name>=<version>`, as for `apt-get download`.
 * @returns the folder with the files.
 */
async function download(work: string, architecture: Architecture, wanted: readonly string[]): Promise<string> {
  const folder = join(work, `apt-${architecture}`)
  for (const path of ['state/lists/partial', 'cache/archives/partial', 'debs'])
    mkdirSync(join(folder, path), { recursive: true })
  writeFileSync(join(folder, 'status'), '')
  const options = [
    `Dir::State=${folder}/state`,
    `Dir::State::status=${folder}/status`,
    `Dir::Cache=${folder}/cache`,
    `APT::Architecture=${architecture}`,
    `APT::Architectures=${architecture}`,
    'APT::Sandbox::User=root',
  ].flatMap((option) => ['-o', option])
  const debs = join(folder, 'debs')
  await run('apt-get', [...options, 'update'])
  await run('apt-get', [...options, 'download', ...wanted], { cwd: debs })
  return debs
}

/** The current versions in this machine's APT sources, for the lock. */
export async function lockPackages(work: string, architecture: Architecture): Promise<DebianPackage[]> {
  const debs = await download(work, architecture, NAMES)
  const files = globSync('*.deb', { cwd: debs }).toSorted()
  return Promise.all(
    files.map(async (file) => {
      const text = await run('dpkg-deb', ['--field', join(debs, file), 'Package', 'Version'])
      const [, name = '', version = ''] = /^Package: (.+)\nVersion: (.+)$/m.exec(text) ?? []
      return { name, version, sha256: sha256Of(join(debs, file)) }
    }),
  )
}

/**
 * Unpacks the locked packages and creates the few files that installing them would create.
 * @throws Error if a package no longer exists, or does not match its hash.
 */
export async function unpackDebian(
  { work, architecture, packages }: { work: string; architecture: Architecture; packages: readonly DebianPackage[] },
  root: string,
): Promise<void> {
  const debs = await download(
    work,
    architecture,
    packages.map(({ name, version }) => `${name}=${version}`),
  )
  const files = new Map(globSync('*.deb', { cwd: debs }).map((file) => [sha256Of(join(debs, file)), join(debs, file)]))
  mkdirSync(root, { recursive: true })
  for (const { name, version, sha256 } of packages) {
    const file = files.get(sha256)
    if (file === undefined)
      throw new Error(`${name} ${version} for ${architecture} has another hash than lock.json says`)
    await run('dpkg-deb', ['--extract', file, root])
  }
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

function sha256Of(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}
