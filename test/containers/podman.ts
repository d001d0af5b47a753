/** Podman with storage, networks and temporary files of its own, so that two runs at once do not meet. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Debian's packages, and a file of each. */
const PACKAGES = {
  podman: '/usr/bin/podman',
  runc: '/usr/sbin/runc',
  catatonit: '/usr/bin/catatonit',
  netavark: '/usr/lib/podman/netavark',
  'aardvark-dns': '/usr/lib/podman/aardvark-dns',
  iptables: '/usr/sbin/iptables',
  haproxy: '/usr/sbin/haproxy',
} as const

/** Containers need more open files than some machines allow by default. Without systemd there is no journal for their logs. */
const CONTAINERS_CONF = `[containers]
default_ulimits = ["nofile=20000:20000", "nproc=10000:10000"]
log_driver = "k8s-file"
[engine]
events_logger = "file"
[network]
network_backend = "netavark"
`

/** The reason why containers cannot run here; undefined if they can. */
export function whyNoContainers(): string | undefined {
  const missing = Object.entries(PACKAGES).filter(([, file]) => !existsSync(file))
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'it needs Linux and root'
  if (missing.length === 0) return undefined
  return `it needs Debian's packages: apt-get install ${missing.map(([name]) => name).join(' ')}`
}

export class Podman implements AsyncDisposable {
  /** Everything of this run. It is removed at the end. */
  readonly folder = join(tmpdir(), `svc-containers-${randomBytes(4).toString('hex')}`) // names of images are lower case
  readonly #options: readonly string[]

  constructor() {
    const path = (name: string): string => join(this.folder, name)
    mkdirSync(path('networks'), { recursive: true })
    writeFileSync(path('containers.conf'), CONTAINERS_CONF)
    this.#options = [
      ...['--root', path('storage'), '--runroot', path('run'), '--tmpdir', path('tmp')],
      ...['--network-config-dir', path('networks')],
      // crun refuses machines that have both versions of cgroups.
      ...['--runtime', 'runc', '--cgroup-manager', 'cgroupfs'],
    ]
  }

  /** @returns the output. @throws Error with the error output. */
  async run(args: readonly string[], input = ''): Promise<string> {
    const env = { ...process.env, CONTAINERS_CONF: join(this.folder, 'containers.conf') }
    const running = promisify(execFile)('podman', [...this.#options, ...args], { env, maxBuffer: 64 << 20 })
    running.child.stdin?.end(input)
    return (await running).stdout.trim()
  }

  /** A field of a container, in the syntax of `podman inspect --format`. */
  inspect(container: string, field: string): Promise<string> {
    return this.run(['inspect', '--type', 'container', '--format', `{{${field}}}`, container])
  }

  /** Gives an image the name that `overlays/production` has for it. @returns its digest. */
  async digestOf(name: string, tag: string): Promise<string> {
    await this.run(['tag', `localhost/${name}:${tag}`, `registry.example.org/${name}:${tag}`])
    return this.run(['image', 'inspect', '--format', '{{.Digest}}', `localhost/${name}:${tag}`])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.run(['pod', 'rm', '--all', '--force', '--time', '0'])
    await this.run(['rm', '--all', '--force', '--time', '0'])
    await this.run(['network', 'prune', '--force'])
    rmSync(this.folder, { recursive: true, force: true })
  }
}
