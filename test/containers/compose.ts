/** deploy/compose, run by Debian's Docker Compose on podman, with images made here. */
import { type ChildProcess, execFile } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { takePorts } from '../support/engines/engines.ts'
import { eventually } from '../support/eventually.ts'
import { VERSION } from './images.ts'
import type { Podman } from './podman.ts'

const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url))
const PROGRAM = '/usr/bin/docker-compose'
/** Compose of Debian 12, which does not know the project's name in the file. */
const NAME = /^name: .*\n/m
const HEALTH_MS = 500

/** The reason why compose cannot run here; undefined if it can. */
export function whyNoCompose(): string | undefined {
  return existsSync(PROGRAM) ? undefined : "it needs Debian's package: apt-get install docker-compose"
}

export class Compose implements AsyncDisposable {
  readonly port: number
  readonly #podman: Podman
  readonly #folder: string
  readonly #server: ChildProcess
  readonly #env: NodeJS.ProcessEnv
  readonly #stop = new AbortController()
  readonly #healthChecks: Promise<void>

  private constructor(podman: Podman, port: number) {
    this.port = port
    this.#podman = podman
    const clone = join(podman.folder, 'clone')
    this.#folder = join(clone, 'compose')
    copyDeploy(clone)
    const socket = join(podman.folder, 'podman.sock')
    this.#server = podman.start(['system', 'service', '--time', '0', `unix://${socket}`])
    this.#env = {
      PATH: process.env.PATH,
      HOME: podman.folder,
      DOCKER_HOST: `unix://${socket}`,
      // All storages of podman share the names of networks, so each run has a project of its own.
      COMPOSE_PROJECT_NAME: `svc${randomBytes(4).toString('hex')}`,
      COMPOSE_HTTP_TIMEOUT: '600',
      SVC_AUTHORITY: `127.0.0.1:${port}`,
      SVC_PUBLISH_PORT: String(port),
      SVC_POW_DIFFICULTY: '4',
    }
    this.#healthChecks = this.#checkHealth()
  }

  /** Makes the secrets, and starts everything as the page for operators says. */
  static async start(podman: Podman): Promise<Compose> {
    await using stack = new AsyncDisposableStack()
    const compose = stack.use(new Compose(podman, await takePorts()))
    const secrets = join(compose.#folder, 'secrets')
    mkdirSync(secrets)
    const options = ['--rm', '--network', 'none', '--user', '0:0', '--volume', `${secrets}:/secrets`]
    await podman.run(['run', ...options, `svc:${VERSION}`, 'secrets.js', '/secrets'])
    await eventually(() => existsSync(join(podman.folder, 'podman.sock')))
    await compose.run('up', '--detach', '--no-build')
    stack.move()
    return compose
  }

  async run(...args: string[]): Promise<string> {
    const options = { cwd: this.#folder, env: this.#env, maxBuffer: 64 << 20 }
    const { stdout } = await promisify(execFile)(PROGRAM, args, options)
    return stdout.trim()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.run('down', '--volumes', '--timeout', '1').catch(() => {}) // podman removes what is left
    this.#stop.abort()
    await this.#healthChecks
    this.#server.kill('SIGKILL')
  }

  /** Runs the health checks of compose.yaml, because podman needs systemd to start them. */
  async #checkHealth(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const names = await this.#podman.run(['ps', '--filter', 'health=starting', '--format', '{{.Names}}'])
      for (const name of names.split('\n').filter((one) => one !== ''))
        await this.#podman.run(['healthcheck', 'run', name]).catch(() => {}) // it is not healthy yet, or it has ended
      await sleep(HEALTH_MS)
    }
  }
}

/**
 * Copies deploy/compose and deploy/nats, with addresses and interfaces of their own, so that two runs do not disturb each other. Health
 * checks get more time, so that none fails on a busy machine.
 */
function copyDeploy(clone: string): void {
  for (const part of ['compose', 'nats'])
    cpSync(join(DEPLOY, part), join(clone, part), {
      recursive: true,
      filter: (path) => !/\/(secrets|node_modules|certificates)$/.test(path),
    })
  const file = join(clone, 'compose/compose.yaml')
  const prefix = `10.${randomInt(100, 230)}.${randomInt(250)}.`
  const run = randomBytes(4).toString('hex')
  const nameOf = (network: string): string => `{ com.docker.network.bridge.name: svc${run}${network} }`
  const ipam = (): string => `{ config: [{ subnet: 10.${randomInt(100, 230)}.${randomInt(250)}.0/24 }] }`
  const text = readFileSync(file, 'utf8')
    .replace(NAME, '')
    .replaceAll('10.231.0.', prefix)
    // Podman chooses addresses and interfaces without a look at other runs. The name of an interface has at most 15 characters.
    .replace('  edge:\n    ipam', `  edge:\n    driver_opts: ${nameOf('ed')}\n    ipam`)
    .replace('  outside: {}', `  outside:\n    driver_opts: ${nameOf('out')}\n    ipam: ${ipam()}`)
    .replace(
      '  inside:\n    internal',
      `  inside:\n    driver_opts: ${nameOf('in')}\n    ipam: ${ipam()}\n    internal`,
    )
  writeFileSync(file, text.replace(/\btimeout: \d+s/g, 'timeout: 60s').replace(/\bretries: \d+/g, 'retries: 1000'))
}
