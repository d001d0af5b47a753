/** Real engines for tests, started when first asked for; see engine-broker.ts. */
import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type NatsServer, startNats } from '@svc/local/engines/nats.ts'
import { deriveSecrets } from '@svc/local/engines/secrets.ts'
import type { NatsLogin } from '@svc/local/topology.ts'
import type { TestRun } from './engine-broker.ts'

/** In the environment of a run's main process, and so of its workers: where the engine broker listens. */
export const BROKER_VARIABLE = 'SVC_TEST_BROKER'

/** Asks the main process. @throws Error with what went wrong there. */
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

/** The run that this test belongs to: a folder and a mark for processes, both gone when the run ends. */
export function findTestRun(): Promise<TestRun> {
  return askBroker<TestRun>('POST', 'run')
}

/**
 * For whoever must know a port before anything listens there.
 * @returns the first of `count` free ones in a row on 127.0.0.1, which nobody else of this run is given until thousands later.
 */
export function takePorts(count = 1): Promise<number> {
  return askBroker<number>('POST', 'ports', count)
}

export interface TestNats extends AsyncDisposable {
  /** Where it stores its streams. */
  readonly folder: string
  /** Of one of the logins of deploy/nats/users.conf; the port stays over restarts. */
  urlFor(user: NatsLogin): string
  /** SIGKILL; clients keep trying. */
  kill(): Promise<void>
  /** Stops it if it runs, and starts it on the same port. @param options.wipe also loses everything it had stored. */
  restart(options?: { wipe?: boolean }): Promise<void>
}

/** A NATS server with a configuration of the test's own. */
interface ConfiguredNats extends AsyncDisposable {
  readonly port: number
  /** Of one of the logins of deploy/nats/users.conf, if the configuration includes `users.conf`. */
  urlFor(user: NatsLogin): string
  /** Starts it again on the same port. @param files are added to those that are there. */
  restart(config: string, files?: object): Promise<void>
}

/**
 * It is the binary's, also if other engines run in containers.
 * @param config finds `files` in `$FOLDER`, and may include `users.conf`.
 */
export async function startConfiguredNats(config: string, files: object = {}): Promise<ConfiguredNats> {
  const { folder, mark } = await findTestRun()
  const name = `nats-${randomBytes(6).toString('hex')}`
  const { natsPasswords: passwords } = deriveSecrets(randomBytes(32).toString('hex'))
  const path = join(folder, name)
  mkdirSync(path, { recursive: true, mode: 0o700 })
  // A file can include what is below its own folder alone.
  copyFileSync(fileURLToPath(new URL('../../../deploy/nats/users.conf', import.meta.url)), join(path, 'users.conf'))
  const start = (text: string, added: object, port?: number): Promise<NatsServer> => {
    const all = { ...added, 'server.conf': text.replaceAll('$FOLDER', path) }
    for (const [file, content] of Object.entries(all)) writeFileSync(join(path, file), content, { mode: 0o600 })
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
    async [Symbol.asyncDispose]() {
      await server.stop()
      rmSync(path, { recursive: true, force: true })
    },
  }
}

/**
 * A NATS server of the test's own: the subjects and the stream are the real ones, so two harnesses cannot share it. It
 * takes about 50 ms to start.
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
      throw new Error('what NATS stores in a container is not to be had')
    },
    urlFor: nats.urlFor,
    kill: nats.kill,
    restart: ({ wipe = false } = {}) => nats.restart(wipe),
    [Symbol.asyncDispose]: nats.stop,
  }
}
