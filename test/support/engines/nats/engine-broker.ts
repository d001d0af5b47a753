/**
 * Runs in vitest's main process and starts the engines that tests share, when a test first needs them. A run of only unit
 * tests starts none. Tests run in other processes and call the broker over loopback HTTP with a token.
 */
import { randomBytes, randomInt } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findBuild } from '@svc/build/find.ts'
import { isPortFree } from '@svc/local/engines/ports.ts'
import { type Engine, startPostgres } from '@svc/local/engines/postgres.ts'
import {
  copyDatabase,
  createDatabase,
  dropDatabase,
  migrateStores,
  prepareRoles,
  storeUrl,
} from '@svc/local/engines/roles.ts'
import { secretsOfServer } from '@svc/local/engines/secrets.ts'
import { codeOf } from '@svc/local/start-error.ts'
import type { StoreName } from '@svc/local/topology.ts'
import { type Keeper, startKeeper } from '@svc/processes/keep.ts'
import { createMark, type Mark } from '@svc/processes/marks.ts'
import type { PostgresContainer } from '../containers.ts'
import { emptyMessaging } from '../postgres/empty-messaging.ts'

/** The folder of a test run and the mark of its processes. The folder and all processes are removed when the run ends, in any way. */
export interface TestRun {
  readonly folder: string
  readonly mark: Mark
  /** The folder of the programs that tests start, as they are shipped (deploy/build). */
  readonly build: string
}

export interface DatabaseAnswer {
  readonly name: string
  /** The URL of the superuser. */
  readonly adminUrl: string
  /** The URLs of each store's role and of its owner (`<store>_owner`). */
  readonly urls: Record<string, string>
}

interface EngineBroker {
  readonly url: string
  close(): Promise<void>
}

/** Other things that the main process keeps for tests, by name. Each exists from its first lease to its last release. */
interface Shared {
  lease(name: string): Promise<unknown>
  release(name: string): void
  close(): Promise<void>
}

/** Below the range of the random search for free ports (deploy/local/src/engines/ports.ts), so that the two never collide. */
const FIRST_PORT = 10_000
const LAST_PORT = 20_000

const ATTEMPTS = 6
/** Postgres error code. */
const OBJECT_IN_USE = '55006'

interface Server {
  adminUrl: string
  passwordOf: (role: string) => string
  engine?: Pick<Engine, 'stop'> | PostgresContainer
}

export async function startEngineBroker(systems: Shared): Promise<EngineBroker> {
  const token = randomBytes(16).toString('hex')
  const databases = new Set<string>()
  const templates = new Map<string, Promise<string>>()
  /** Databases of messaging that tests have borrowed, by name; and emptied ones that wait for the next test. */
  const lent = new Map<string, DatabaseAnswer>()
  const idle: DatabaseAnswer[] = []
  let run: Promise<TestRun & { keeper: Keeper }> | undefined
  let server: Promise<Server> | undefined
  let templateMade: Promise<unknown> = Promise.resolve()
  let made = 0
  let nextPort = randomInt(FIRST_PORT, LAST_PORT)

  const http = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))

  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/${token}`,
    async close() {
      await systems.close()
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
      const { adminUrl, engine } = (await server?.catch(() => undefined)) ?? {}
      if (engine !== undefined) await engine.stop()
      else if (adminUrl !== undefined) for (const name of databases) await dropDatabase(adminUrl, name)
      await (await run)?.keeper.release()
    },
  }

  function theRun(): Promise<TestRun & { keeper: Keeper }> {
    run ??= startRun()
    return run
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.split('/').slice(1) ?? []
    let status = 200
    let body: unknown
    try {
      if (path[0] !== token) status = 404
      else if (request.method === 'POST' && path[1] === 'run') {
        const { folder, mark, build } = await theRun()
        body = { folder, mark, build } satisfies TestRun
      } else if (request.method === 'POST' && path[1] === 'databases')
        body = await makeDatabase(await readBody(request))
      else if (request.method === 'POST' && path[1] === 'borrowed') body = await lend()
      else if (request.method === 'DELETE' && path[1] === 'borrowed') await takeBack(path[2] ?? '')
      else if (request.method === 'POST' && path[1] === 'ports') body = await takePorts(await readBody(request))
      else if (request.method === 'DELETE' && path[1] === 'databases') await removeDatabase(path[2] ?? '')
      else if (request.method === 'POST' && path[1] === 'systems') body = await systems.lease(path[2] ?? '')
      else if (request.method === 'DELETE' && path[1] === 'systems') systems.release(path[2] ?? '')
      else status = 404
    } catch (error) {
      status = 500
      body = { message: error instanceof Error ? error.message : String(error) }
    }
    // Close each connection: a persistent one could time out during the next request of a worker that was paused.
    const headers = { 'content-type': 'application/json', connection: 'close' }
    response.writeHead(status, headers).end(JSON.stringify(body ?? {}))
  }

  /** @returns the first of `count` consecutive free ports. */
  async function takePorts(count: number): Promise<number> {
    for (let tried = 0; tried < LAST_PORT - FIRST_PORT; tried += count) {
      if (nextPort + count > LAST_PORT) nextPort = FIRST_PORT
      const first = nextPort
      // No await comes before this line, so two concurrent callers get different ports.
      nextPort += count
      const free = await Promise.all(Array.from({ length: count }, (_, at) => isPortFree(first + at)))
      if (!free.includes(false)) return first
    }
    throw new Error(`no ${count} free ports in a row from ${FIRST_PORT} to ${LAST_PORT}`)
  }

  async function makeDatabase(stores: StoreName[]): Promise<DatabaseAnswer> {
    server ??= startServer()
    const running = await server
    const { adminUrl, passwordOf } = running
    const { mark } = await theRun()
    const key = stores.join('+')
    // No await comes between the lookup and the update, so two tests that start at once share one template.
    let template = templates.get(key)
    if (template === undefined) {
      // Make one template at a time: roles belong to the whole server, but the lock of prepareRoles covers only one
      // database.
      template = templateMade.then(() => makeTemplate(running, mark, stores))
      templateMade = template.catch(() => void templates.delete(key))
      templates.set(key, template)
    }
    made += 1
    const name = `svc_${mark.run}_${made}`
    databases.add(name)
    const source = await template
    const own = await untilUnused(() => copyDatabase(adminUrl, source, name))
    const roles = stores.flatMap((store) => [store, `${store}_owner`])
    const urls = Object.fromEntries(roles.map((role) => [role, storeUrl({ adminUrl: own, passwordOf }, role)]))
    return { name, adminUrl: own, urls }
  }

  async function lend(): Promise<DatabaseAnswer> {
    const answer = idle.pop() ?? (await makeDatabase(['messaging']))
    lent.set(answer.name, answer)
    return answer
  }

  /** Empties a borrowed database for the next test. */
  async function takeBack(name: string): Promise<void> {
    const answer = lent.get(name)
    if (answer === undefined || !lent.delete(name)) return
    try {
      await emptyMessaging(answer.adminUrl)
      idle.push(answer)
    } catch (error) {
      console.warn(`${name} is dropped, because it could not be emptied:`, error)
      await removeDatabase(name)
    }
  }

  /** Makes a migrated database to copy. A copy takes a few milliseconds; migrations take a hundred. */
  async function makeTemplate({ adminUrl, passwordOf }: Server, mark: Mark, stores: StoreName[]): Promise<string> {
    made += 1
    const name = `svc_${mark.run}_template_${made}`
    databases.add(name)
    const setup = { adminUrl: await createDatabase(adminUrl, name), stores, passwordOf }
    await prepareRoles(setup)
    await migrateStores({ ...setup, schemaDirOf })
    return name
  }

  async function removeDatabase(name: string): Promise<void> {
    if (!databases.delete(name) || server === undefined) return
    const { adminUrl } = await server
    await untilUnused(() => dropDatabase(adminUrl, name))
  }

  async function startServer(): Promise<Server> {
    const external = process.env.SVC_DATABASE_URL
    if (external !== undefined && external !== '')
      return { adminUrl: external, passwordOf: secretsOfServer(external).rolePassword }
    if (process.env.SVC_TEST_ENGINE === 'containers') {
      const { startPostgresContainer } = await import('../containers.ts')
      const engine = await startPostgresContainer()
      return { adminUrl: engine.adminUrl, passwordOf: secretsOfServer(engine.adminUrl).rolePassword, engine }
    }
    const { folder, mark } = await theRun()
    const engine = await startPostgres({
      folder,
      mark,
      password: randomBytes(16).toString('hex'),
      durable: false,
      // three systems with full pools of 80 connections each, and one more set behind stalled links
      maxConnections: 500,
      sharedBuffersMib: 64,
      onProblem: () => {}, // tests provoke errors on purpose
    })
    return { adminUrl: engine.url, passwordOf: secretsOfServer(engine.url).rolePassword, engine }
  }
}

async function startRun(): Promise<TestRun & { keeper: Keeper }> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-test-'))
  const mark = createMark(folder)
  return { folder, mark, keeper: await startKeeper(mark, folder), build: await findBuild() }
}

/** Retries while the database has sessions. Postgres waits only 5 s for them to end, which is too short on a busy machine. */
async function untilUnused<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (attempt === ATTEMPTS || codeOf(error) !== OBJECT_IN_USE) throw error
    }
  }
}

function schemaDirOf(store: StoreName): string {
  return fileURLToPath(new URL(`../../../../services/${store}/database`, import.meta.url))
}

async function readBody<T>(request: IncomingMessage): Promise<T> {
  const chunks = await request.toArray()
  return JSON.parse(Buffer.concat(chunks).toString()) as T
}
