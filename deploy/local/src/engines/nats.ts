/** An embedded NATS with JetStream: one process on a free port of the loopback address, with its data in `<folder>/<name>`. */
import { mkdirSync } from 'node:fs'
import { connect } from 'node:net'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { urlHost } from '@svc/config/host.ts'
import { type Child, type Ending, startChild } from '@svc/processes/child.ts'
import { type Mark, markOf } from '@svc/processes/marks.ts'
import { StartError } from '../start-error.ts'
import { NATS_LOGINS, type NatsLogin } from '../topology.ts'
import { findNatsServer } from './binaries.ts'
import { LOOPBACK } from './loopback.ts'
import { findFreePort } from './ports.ts'

interface NatsOptions {
  folder: string
  mark: Mark
  /** The name in the stack and of the folder, if there are several servers; begins with `nats`. */
  name?: string
  /** Consists of letters and digits and begins with a letter, because the configuration reads it unquoted from the environment. */
  passwords: Readonly<Record<NatsLogin, string>>
  /** The port of an earlier start; a free port by default. */
  port?: number
  /** The configuration file; by default that of the local stack. */
  config?: string
  onProblem: (line: string) => void
}

export interface NatsServer {
  readonly port: number
  readonly pid: number | undefined
  readonly ended: Promise<Ending>
  urlFor(login: NatsLogin): string
  kill(signal: NodeJS.Signals): void
  stop(): Promise<Ending>
}

const CONFIG = fileURLToPath(new URL('../../nats.conf', import.meta.url))
const START_ATTEMPTS = 5
const RETRY_MS = 200
/** Half of the machine's processors. The rest is for the processes that exchange messages, and fewer threads also cost less. */
const PROCESSORS = Math.max(1, Math.floor(availableParallelism() / 2))
const POLL_MS = 15

/** @throws StartError if it cannot start, with a message that says what to do. */
export async function startNats(options: NatsOptions): Promise<NatsServer> {
  const program = await findNatsServer()
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await findFreePort())
    const { child, lines } = await tryStart(program, port, options)
    if (child !== undefined) {
      const urlFor = (login: NatsLogin): string =>
        `nats://${login}:${options.passwords[login]}@${urlHost(LOOPBACK)}:${port}`
      return { port, pid: child.pid, ended: child.ended, urlFor, kill: child.kill, stop: child.stop }
    }
    if (attempt === START_ATTEMPTS || !lines.some((line) => line.includes('address already in use'))) {
      throw new StartError(explain(lines))
    }
    await sleep(RETRY_MS)
  }
}

async function tryStart(
  program: string,
  port: number,
  { folder, mark, name = 'nats', passwords, config = CONFIG, onProblem }: NatsOptions,
): Promise<{ child?: Child; lines: string[] }> {
  const store = join(folder, name)
  mkdirSync(store, { recursive: true, mode: 0o700 })
  const title = markOf(mark, name)
  const lines: string[] = []
  let ready = false
  const settings = {
    name,
    command: program,
    args: ['-c', config, '-n', title, '-a', LOOPBACK, '-p', String(port), '-js', '-sd', store],
    env: { PATH: process.env.PATH, GOMAXPROCS: String(PROCESSORS), ...natsEnvironment(passwords) },
    onLine: (line: string) => {
      if (!ready) lines.push(line)
      else if (/\[(WRN|ERR|FTL)\]/.test(line)) onProblem(line.replace(/^.*?(?=\[(?:WRN|ERR|FTL)\])/, ''))
    },
  }
  const child = startChild(settings)
  let ended = false
  void child.ended.then(() => {
    ended = true
  })
  while (!ended) {
    ready = (await serverNameAt(port)) === title
    if (ready) return { child, lines }
    await sleep(POLL_MS)
  }
  const { reason } = await child.ended
  return { lines: lines.length > 0 ? lines : [reason] }
}

/** The environment variables that deploy/nats/users.conf reads. */
export function natsEnvironment(passwords: Readonly<Record<NatsLogin, string>>): Record<string, string> {
  return Object.fromEntries(NATS_LOGINS.map((login) => [passwordVariable(login), passwords[login]]))
}

/** The name of the variable in deploy/nats/users.conf. */
function passwordVariable(login: NatsLogin): string {
  const [user = '', second] = login.toUpperCase().split('_')
  return `SVC_NATS_${user}_PASSWORD${second === undefined ? '' : `_${second}`}`
}

/** Reads the server's name from its greeting, so that another server on this port is not mistaken for ours. */
function serverNameAt(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: LOOPBACK, timeout: 1_000 })
    let greeting = ''
    const settle = (): void => {
      socket.destroy()
      resolve(/"server_name":"([^"]*)"/.exec(greeting)?.[1])
    }
    socket.on('data', (chunk: Buffer) => {
      greeting += chunk.toString('latin1')
      if (greeting.includes('\n')) settle()
    })
    socket.on('error', settle)
    socket.on('timeout', settle)
    socket.on('close', settle)
  })
}

function explain(lines: string[]): string {
  const text = lines.join('\n')
  if (/no space left on device/i.test(text)) {
    return 'The disk is full, and NATS cannot start: free some space, or set SVC_DATA_DIR to a folder on another disk.'
  }
  if (/ENOMEM|EAGAIN|cannot allocate memory|out of memory/i.test(text)) {
    return 'There is not enough free memory to start NATS: end other programs, or give this one more.'
  }
  const failure = lines.find((line) => /\[FTL\]|nats-server:/.test(line)) ?? lines.at(-1) ?? 'it said nothing'
  return `NATS does not start: ${failure.replace(/^.*?(\[FTL\]|nats-server:)/, '').trim()}.`
}
