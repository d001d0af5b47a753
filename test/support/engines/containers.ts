/**
 * Runs the engines of tests in containers of the published images instead of the packaged binaries
 * (`SVC_TEST_ENGINE=containers`). Needs a Docker that testcontainers can find. Loaded only in that case, because loading
 * takes longer than most tests.
 */
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { natsEnvironment } from '@svc/local/engines/nats.ts'
import type { NatsLogin } from '@svc/local/topology.ts'
import { GenericContainer, getContainerRuntimeClient, type StartedTestContainer, Wait } from 'testcontainers'

const POSTGRES_IMAGE = 'postgres:18'
const NATS_IMAGE = 'nats:2.14'
const NATS_CONFIG = fileURLToPath(new URL('../../../deploy/nats', import.meta.url))
const START_LIMIT_MS = 60_000

export interface PostgresContainer {
  /** The URL of the superuser. */
  readonly adminUrl: string
  stop(): Promise<void>
}

/** Starts Postgres without durability, and with enough connections for the tests. */
export async function startPostgresContainer(): Promise<PostgresContainer> {
  const password = randomBytes(16).toString('hex')
  const settings = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=500']
  const container = await new GenericContainer(POSTGRES_IMAGE)
    .withEnvironment({ POSTGRES_PASSWORD: password })
    .withCommand(settings.flatMap((setting) => ['-c', setting]))
    .withExposedPorts(5432)
    // Check over TCP: while the image sets up the database, it listens only on its Unix socket.
    .withHealthCheck({
      test: ['CMD', 'pg_isready', '-U', 'postgres', '-h', '127.0.0.1'],
      interval: 200,
      timeout: 5_000,
      retries: 200,
    })
    .withWaitStrategy(Wait.forHealthCheck().withStartupTimeout(START_LIMIT_MS))
    .start()
  return {
    adminUrl: `postgres://postgres:${password}@${container.getHost()}:${container.getMappedPort(5432)}/postgres`,
    async stop() {
      await container.stop()
    },
  }
}

interface NatsContainer {
  urlFor(login: NatsLogin): string
  /** Sends SIGKILL. */
  kill(): Promise<void>
  /** Restarts on the same port. @param wipe deletes all stored data. */
  restart(wipe: boolean): Promise<void>
  stop(): Promise<void>
}

/** @param port a free port of the host. */
export async function startNatsContainer(
  port: number,
  passwords: Readonly<Record<NatsLogin, string>>,
): Promise<NatsContainer> {
  const start = (): Promise<StartedTestContainer> =>
    new GenericContainer(NATS_IMAGE)
      .withEnvironment(natsEnvironment(passwords))
      .withCopyDirectoriesToContainer([{ source: NATS_CONFIG, target: '/etc/nats' }])
      .withCommand(['--config', '/etc/nats/single.conf'])
      .withExposedPorts({ container: 4222, host: port })
      .withWaitStrategy(Wait.forLogMessage(/Server is ready/).withStartupTimeout(START_LIMIT_MS))
      .start()
  let container = await start()
  const host = container.getHost()
  return {
    urlFor: (login) => `nats://${login}:${passwords[login]}@${host}:${port}`,
    async kill() {
      const runtime = await getContainerRuntimeClient()
      await runtime.container.getById(container.getId()).kill()
    },
    async restart(wipe) {
      if (wipe) {
        await container.stop()
        container = await start()
      } else await container.restart()
    },
    async stop() {
      await container.stop()
    },
  }
}
