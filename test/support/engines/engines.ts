/** Real engines for tests. Each starts at its first use; see engine-broker.ts. */
import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type NatsServer, startNats } from '@svc/local/engines/nats.ts'
import { deriveSecrets } from '@svc/local/engines/secrets.ts'
import type { NatsLogin } from '@svc/local/topology.ts'
import { markOf } from '@svc/processes/marks.ts'
import type { TestRun } from './nats/engine-broker.ts'

/** The environment variable with the address of the engine broker. The main process of a run sets it for its workers. */
export const BROKER_VARIABLE = 'SVC_TEST_BROKER'

/** Sends a request to the engine broker. @throws Error with its message. */
export async function askBroker<T>(method: 'POST' | 'DELETE', path: string, body?: unknown): Promise<T> {
  const response = await fetch(`${process.env[BROKER_VARIABLE]}/${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const answer = await response.json()
  if (!response.ok)
    throw new Error((answer as { message: string }).message ?? `the engine broker answered ${response.status}`)
  return answer as T
}

/** The run of this test: its folder and the mark of its processes, both removed when the run ends. */
export function findTestRun(): Promise<TestRun> {
  return askBroker<TestRun>('POST', 'run')
}

/**
 * Reserves ports for servers whose port must be known before they listen.
 * @returns the first of `count` consecutive free ports on 127.0.0.1. The run does not hand them out again until it has
 * handed out thousands of others.
 */
export function takePorts(count = 1): Promise<number> {
  return askBroker<number>('POST', 'ports', count)
}

export interface TestNats extends AsyncDisposable {
  /** The folder of the server's streams. */
  readonly folder: string
  /** The URL of a login of deploy/nats/users.conf. The port does not change over restarts. */
  urlFor(user: NatsLogin): string
  /** Sends SIGKILL. Clients try to reconnect until the next start. */
  kill(): Promise<void>
  /** Stops the server if it runs, and starts it on the same port. @param options.wipe deletes all stored data. */
  restart(options?: { wipe?: boolean }): Promise<void>
}

/** A NATS server with the test's own configuration. */
interface ConfiguredNats extends AsyncDisposable {
  readonly port: number
  /** The URL of a login of deploy/nats/users.conf, if the configuration includes `users.conf`. */
  urlFor(user: NatsLogin): string
  /** Starts the server again on the same port. @param files are added to the existing files. */
  restart(config: string, files?: object): Promise<void>
  /** Replaces these files, and has the running server read its configuration again. */
  reload(files: object): void
}

/**
 * Starts a NATS server from the binary, even if other engines run in containers.
 * @param config the text of the configuration. `$FOLDER` is replaced by the folder that has `files`. It may include `users.conf`.
 */
export async function startConfiguredNats(config: string, files: object = {}): Promise<ConfiguredNats> {
  const { folder, mark } = await findTestRun()
  const name = `nats-${randomBytes(6).toString('hex')}`
  const { natsPasswords: passwords } = deriveSecrets(randomBytes(32).toString('hex'))
  const path = join(folder, name)
  mkdirSync(path, { recursive: true, mode: 0o700 })
  // NATS includes only files below the folder of the including file
  for (const file of ['users.conf', 'passwords.conf'])
    copyFileSync(fileURLToPath(new URL(`../../../deploy/nats/${file}`, import.meta.url)), join(path, file))
  const write = (all: object): void => {
    for (const [file, content] of Object.entries(all)) writeFileSync(join(path, file), content, { mode: 0o600 })
  }
  const start = (text: string, added: object, port?: number): Promise<NatsServer> => {
    // A reload does not read the name in the arguments, and is refused if the name seems to change.
    const named = `server_name: "${markOf(mark, name)}"\n${text}`
    write({ ...added, 'server.conf': named.replaceAll('$FOLDER', path) })
    const settings = { folder, mark, name, passwords, config: join(path, 'server.conf'), onProblem: () => {} }
    return startNats({ ...settings, ...(port === undefined ? {} : { port }) })
  }
  let server = await start(config, files)
  return {
    port: server.port,
    urlFor: (user) => server.urlFor(user),
    async restart(next, added = {}) {
      await server.stop()
      server = await start(next, added, server.port)
    },
    reload(replaced) {
      write(replaced)
      server.kill('SIGHUP')
    },
    async [Symbol.asyncDispose]() {
      await server.stop()
      rmSync(path, { recursive: true, force: true })
    },
  }
}

/**
 * Starts a NATS server for one test. Subjects and stream have their real names, so two harnesses cannot share a server. The start
 * takes about 50 ms.
 */
export async function startTestNats(): Promise<TestNats> {
  const { folder, mark } = await findTestRun()
  const name = `nats-${randomBytes(6).toString('hex')}`
  const { natsPasswords: passwords } = deriveSecrets(randomBytes(32).toString('hex'))
  if (process.env.SVC_TEST_ENGINE === 'containers') return startInContainer(passwords)
  const start = (port?: number): Promise<NatsServer> =>
    startNats({ folder, mark, name, passwords, ...(port === undefined ? {} : { port }), onProblem: () => {} })
  let server = await start()
  return {
    folder: join(folder, name),
    urlFor: (user) => server.urlFor(user),
    async kill() {
      server.kill('SIGKILL')
      await server.ended
    },
    async restart({ wipe = false } = {}) {
      await server.stop()
      if (wipe) rmSync(join(folder, name), { recursive: true, force: true })
      server = await start(server.port)
    },
    async [Symbol.asyncDispose]() {
      await server.stop()
      rmSync(join(folder, name), { recursive: true, force: true })
    },
  }
}

async function startInContainer(passwords: Readonly<Record<NatsLogin, string>>): Promise<TestNats> {
  const { startNatsContainer } = await import('./containers.ts')
  const nats = await startNatsContainer(await takePorts(), passwords)
  return {
    get folder(): string {
      throw new Error('the files that NATS stores in a container cannot be read')
    },
    urlFor: nats.urlFor,
    kill: nats.kill,
    restart: ({ wipe = false } = {}) => nats.restart(wipe),
    [Symbol.asyncDispose]: nats.stop,
  }
}
