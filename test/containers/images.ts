/**
 * The images of the manifests: the service's own, as `npx pnpm image` builds it, and stand-ins for Postgres and NATS, because
 * nothing can be pulled in a test. They have the programs of the npm packages, and are for tests only.
 */
import { execFile } from 'node:child_process'
import { chmodSync, copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findNatsServer, findPostgres } from '@svc/local/engines/binaries.ts'
import type { Podman } from './podman.ts'

const run = promisify(execFile)
const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
/** The tag of the service's image, in the manifests too. */
export const { version: VERSION } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')) as {
  version: string
}

/** Does what the manifests need of the official image's entry point. Compresses with pglz, because the npm package lacks lz4. */
const POSTGRES_ENTRYPOINT = `#!/bin/sh
set -eu
if ! [ -s "$PGDATA/PG_VERSION" ]; then
  initdb --pgdata="$PGDATA" --username=postgres --pwfile="$POSTGRES_PASSWORD_FILE" --auth-local=trust \\
    --auth-host=scram-sha-256 --encoding=UTF8 --locale=C --locale-provider=builtin --builtin-locale=C.UTF-8
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  echo "create database $POSTGRES_DB" | postgres --single -D "$PGDATA" postgres
fi
for arg; do
  shift
  [ "$arg" = wal_compression=lz4 ] && arg=wal_compression=pglz
  set -- "$@" "$arg"
done
exec postgres -c 'listen_addresses=*' "$@"
`

/** Builds all images, under the names that the manifests use. */
export async function buildImages(podman: Podman): Promise<void> {
  await Promise.all([buildService(podman), buildPostgres(podman), buildNats(podman)])
}

/** Builds the image from the tracked files as they are now, committed or not. */
async function buildService(podman: Podman): Promise<void> {
  const folder = join(podman.folder, 'image')
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  const changed = (await run('git', ['stash', 'create'], { cwd: REPOSITORY })).stdout.trim()
  // Debian may have replaced a locked package since, which must not stop the tests.
  const args = [
    'deploy/image/oci/main.ts',
    folder,
    '--arch',
    architecture,
    '--commit',
    changed || 'HEAD',
    '--or-newest',
  ]
  await run(process.execPath, args, { cwd: REPOSITORY })
  const id = await podman.run(['pull', '--quiet', `oci:${folder}:${VERSION}`])
  await podman.run(['tag', id, `localhost/svc:${VERSION}`])
  rmSync(folder, { recursive: true })
}

async function buildPostgres(podman: Podman): Promise<void> {
  const root = join(podman.folder, 'postgres')
  const programs = dirname(await findPostgres())
  cpSync(dirname(programs), join(root, 'usr/local'), { recursive: true, verbatimSymlinks: true })
  await copyLibraries(root, [join(programs, 'postgres'), join(programs, 'initdb'), '/bin/sh'], dirname(programs))
  mkdirSync(join(root, 'bin'))
  copyFileSync('/bin/sh', join(root, 'bin/sh')) // initdb starts programs with it
  writeFileSync(join(root, 'entrypoint.sh'), POSTGRES_ENTRYPOINT)
  chmodSync(join(root, 'entrypoint.sh'), 0o755)
  await importRoot(podman, root, 'postgres:18', ['ENTRYPOINT ["/entrypoint.sh"]', 'STOPSIGNAL SIGINT'])
}

async function buildNats(podman: Podman): Promise<void> {
  const root = join(podman.folder, 'nats')
  const program = await findNatsServer()
  mkdirSync(join(root, 'usr/local/bin'), { recursive: true })
  copyFileSync(program, join(root, 'usr/local/bin/nats-server'))
  await importRoot(podman, root, 'nats:2.14', ['ENTRYPOINT ["nats-server"]'])
}

/** Copies the libraries that the programs load from this machine, except for those below a folder. NATS needs none. */
export async function copyLibraries(root: string, programs: readonly string[], except?: string): Promise<void> {
  for (const program of programs) {
    const { stdout } = await run('ldd', [program]).catch(() => ({ stdout: '' })) // a static program has none
    for (const [, library = ''] of stdout.matchAll(/(\/\S+) \(0x/g)) {
      if (except !== undefined && library.startsWith(except)) continue
      mkdirSync(join(root, dirname(library)), { recursive: true })
      copyFileSync(library, join(root, library))
    }
  }
}

export async function importRoot(
  podman: Podman,
  root: string,
  name: string,
  changes: readonly string[],
): Promise<void> {
  mkdirSync(join(root, 'etc'), { recursive: true })
  mkdirSync(join(root, 'tmp'), { recursive: true })
  chmodSync(join(root, 'tmp'), 0o1777)
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0:root:/:/bin/sh\nengine:x:999:999:engine:/:/bin/sh\n')
  writeFileSync(join(root, 'etc/group'), 'root:x:0:\n')
  writeFileSync(join(root, 'etc/nsswitch.conf'), 'passwd: files\nhosts: files dns\n')
  const file = `${root}.tar`
  await run('tar', ['--create', '--file', file, '--directory', root, '--owner=0', '--group=0', '.'])
  const options = [...changes, 'ENV PATH=/usr/local/bin:/bin'].flatMap((change) => ['--change', change])
  await podman.run(['import', '--quiet', ...options, file, `localhost/${name}`])
  rmSync(file)
  rmSync(root, { recursive: true })
}
