/** The images of deploy/compose: those of the manifests, with what its health checks and its users need, and nginx of Debian. */
import { chmodSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildImages, copyLibraries, importRoot, VERSION } from './images.ts'
import type { Podman } from './podman.ts'

/** Replaces curl and wget in health checks, and needs only bash. */
const ANSWERS = (port: number): string => `#!/bin/bash
url=\${@: -1}
exec 3<>/dev/tcp/127.0.0.1/${port} || exit 1
printf 'GET /%s HTTP/1.0\\r\\nHost: x\\r\\n\\r\\n' "\${url#*//*/}" >&3
read -r _ status _ <&3
[ "$status" = 200 ]
`
/** Replaces pg_isready. */
const ACCEPTS = (port: number): string => `#!/bin/bash
exec 3<>/dev/tcp/127.0.0.1/${port}
`

/** Root makes postgres the owner of the volume, and then drops its rights, as the official image does. */
const AS_POSTGRES = `#!/bin/bash
set -eu
mkdir -p "$PGDATA"
chown -R 999:999 /var/lib/postgresql
exec setpriv --reuid=999 --regid=999 --clear-groups /entrypoint.sh "$@"
`

/** Builds all images, under the names of compose.yaml. */
export async function buildComposeImages(podman: Podman): Promise<void> {
  await buildImages(podman)
  await derive(podman, 'postgres:18', {
    from: 'postgres:18',
    changes: ['ENV PGDATA=/var/lib/postgresql/18/docker', 'ENTRYPOINT ["/as-postgres.sh"]'],
    scripts: { 'as-postgres.sh': AS_POSTGRES, 'usr/local/bin/pg_isready': ACCEPTS(5432) },
    programs: ['/usr/bin/mkdir', '/usr/bin/chown', '/usr/bin/setpriv'],
  })
  await derive(podman, 'nats:2.14-alpine', {
    from: 'nats:2.14',
    changes: [],
    scripts: { 'usr/local/bin/wget': ANSWERS(8222) },
    programs: [],
  })
  await buildNginx(podman)
  // Podman's API looks for the images under these names.
  for (const name of [`svc:${VERSION}`, 'postgres:18', 'nats:2.14-alpine', 'nginx:1.29'])
    await podman.run(['tag', `localhost/${name}`, `docker.io/library/${name}`])
}

async function buildNginx(podman: Podman): Promise<void> {
  const root = join(podman.folder, 'nginx')
  await addPrograms(root, ['/usr/sbin/nginx', '/bin/bash', '/bin/sh'])
  addScript(join(root, 'usr/local/bin/curl'), ANSWERS(8080))
  for (const folder of ['var/log/nginx', 'var/lib/nginx']) mkdirSync(join(root, folder), { recursive: true })
  await importRoot(podman, root, 'nginx:1.29', [])
}

interface Derived {
  readonly from: string
  readonly changes: readonly string[]
  readonly scripts: Readonly<Record<string, string>>
  readonly programs: readonly string[]
}

async function derive(podman: Podman, name: string, { from, changes, scripts, programs }: Derived): Promise<void> {
  const context = join(podman.folder, 'derived')
  const root = join(context, 'root')
  await addPrograms(root, ['/bin/bash', '/bin/sh', ...programs])
  for (const [path, text] of Object.entries(scripts)) addScript(join(root, path), text)
  writeFileSync(join(context, 'Containerfile'), [`FROM localhost/${from}`, 'COPY root/ /', ...changes].join('\n'))
  await podman.run(['build', '--quiet', '--tag', `localhost/${name}`, context])
  rmSync(context, { recursive: true })
}

/** Programs of this machine, and their libraries. */
async function addPrograms(root: string, programs: readonly string[]): Promise<void> {
  await copyLibraries(root, programs)
  mkdirSync(join(root, 'usr/local/bin'), { recursive: true })
  mkdirSync(join(root, 'bin'), { recursive: true })
  for (const program of programs)
    copyFileSync(program, join(root, program.replace(/^.*\//, program.startsWith('/bin/') ? 'bin/' : 'usr/local/bin/')))
}

function addScript(path: string, text: string): void {
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, text)
  chmodSync(path, 0o755)
}
