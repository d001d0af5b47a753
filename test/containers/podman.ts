/** Podman with storage, networks and temporary files of its own, so that two runs at once do not disturb each other. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Containers need more open files than some machines allow by default. Without systemd there is no journal for their logs. */
const CONTAINERS_CONF = `[containers]
default_ulimits = ["nofile=20000:20000", "nproc=10000:10000"]
log_driver = "k8s-file"
[engine]
events_logger = "file"
[network]
network_backend = "netavark"
`

/** Removes everything of this run when its input ends. That also happens if the process of the tests is killed. */
const CLEAN = `cat
podman "$@" pod rm --all --force --time 0
podman "$@" rm --all --force --time 0
podman "$@" network prune --force
rm -rf "$FOLDER"`

export class Podman implements AsyncDisposable {
  /** Everything of this run. It is removed at the end. */
  readonly folder = join(tmpdir(), `svc-containers-${randomBytes(4).toString('hex')}`) // names of images are lower case
  readonly #options: readonly string[]
  readonly #env: NodeJS.ProcessEnv
  readonly #cleaner: ChildProcess

  constructor() {
    const path = (name: string): string => join(this.folder, name)
    mkdirSync(path('networks'), { recursive: true })
    writeFileSync(path('containers.conf'), CONTAINERS_CONF)
    // DISABLE_HC_SYSTEMD turns off the timers of health checks, which need systemd.
    this.#env = { ...process.env, CONTAINERS_CONF: path('containers.conf'), DISABLE_HC_SYSTEMD: 'true' }
    this.#options = [
      ...['--root', path('storage'), '--runroot', path('run'), '--tmpdir', path('tmp')],
      ...['--network-config-dir', path('networks')],
      // crun refuses machines that have both versions of cgroups.
      ...['--runtime', 'runc', '--cgroup-manager', 'cgroupfs'],
    ]
    this.#cleaner = spawn('sh', ['-c', CLEAN, 'sh', ...this.#options], {
      detached: true, // a Ctrl-C does not reach it
      stdio: ['pipe', 'ignore', 'ignore'],
      env: { ...this.#env, FOLDER: this.folder },
    })
    this.#cleaner.unref()
  }

  /** @returns the output. @throws Error with the error output. */
  async run(args: readonly string[], input = ''): Promise<string> {
    return (await this.#run(args, input)).stdout.trim()
  }

  /** Starts a command that does not end by itself. */
  start(args: readonly string[]): ChildProcess {
    return spawn('podman', [...this.#options, ...args], { env: this.#env, stdio: 'ignore' })
  }

  /** The last lines of both outputs of a container. */
  async logOf(container: string): Promise<string> {
    const { stdout, stderr } = await this.#run(['logs', '--tail', '40', container])
    return `${stdout}${stderr}`
  }

  /** A field of a container, in the syntax of `podman inspect --format`. */
  inspect(container: string, field: string): Promise<string> {
    return this.run(['inspect', '--type', 'container', '--format', `{{${field}}}`, container])
  }

  /** With cgroups v1, all containers together get the share of one process. This gives them the share of twenty. */
  giveCpu(): void {
    const shares = '/sys/fs/cgroup/cpu/libpod_parent/cpu.shares'
    if (existsSync(shares)) writeFileSync(shares, String(20 * 1024))
  }

  /** Sets what `kube play` of Podman 4.3 leaves out: a sysctl of the network of a running container. */
  async setInNetworkOf(container: string, sysctl: string, value: string): Promise<void> {
    const file = `/proc/sys/${sysctl.replaceAll('.', '/')}`
    const pid = await this.inspect(container, '.State.Pid')
    await run('nsenter', ['--net', '--target', pid, 'sh', '-c', 'echo "$1" >"$2"', 'sh', value, file])
  }

  /** Gives an image the name that `overlays/production` has for it. @returns its digest. */
  async digestOf(name: string, tag: string): Promise<string> {
    await this.run(['tag', `localhost/${name}:${tag}`, `registry.example.org/${name}:${tag}`])
    return this.run(['image', 'inspect', '--format', '{{.Digest}}', `localhost/${name}:${tag}`])
  }

  #run(args: readonly string[], input = ''): Promise<{ stdout: string; stderr: string }> {
    const running = run('podman', [...this.#options, ...args], { env: this.#env, maxBuffer: 64 << 20 })
    running.child.stdin?.end(input)
    return running
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cleaner.ref()
    this.#cleaner.stdin?.end()
    await once(this.#cleaner, 'exit')
  }
}
