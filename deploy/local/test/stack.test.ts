import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseDatabaseUrl } from '@svc/config/database-url.ts'
import { createMark, findMarked, type MarkedProcess, reclaim } from '@svc/processes/marks.ts'
import postgres from 'postgres'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Agent } from '../../../test/support/client/agent.ts'
import { createTestDatabase } from '../../../test/support/engines/database.ts'
import { findTestRun, takePorts } from '../../../test/support/engines/engines.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { STORES } from '../src/topology.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const START_LIMIT_MS = 100_000

interface Launcher {
  readonly child: ChildProcess
  readonly ended: Promise<number | null>
  output(): string
}

let dataDir: string
let stack: string
let port: number
let launchers: Launcher[]

beforeEach(async () => {
  dataDir = mkdtempSync(join((await findTestRun()).folder, 'stack-'))
  stack = createMark(dataDir).stack
  // A second gateway takes the next port.
  port = await takePorts(2)
  launchers = []
})

afterEach(async () => {
  for (const { child, ended } of launchers) {
    child.kill('SIGTERM')
    await ended
  }
  await reclaim(stack)
})

function launch(env: NodeJS.ProcessEnv = {}): Launcher {
  const { SVC_DATABASE_URL: _database, SVC_NATS_URL: _nats, ...inherited } = process.env
  const settings = { SVC_DATA_DIR: dataDir, SVC_HTTP_PORT: String(port), SVC_POW_DIFFICULTY: '4' }
  const child = spawn(process.execPath, ['deploy/local/src/main.ts'], {
    cwd: ROOT,
    env: { ...inherited, ...settings, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const launcher = { child, ended, output: () => output }
  launchers.push(launcher)
  return launcher
}

/** @returns when the welcome text was printed. */
async function launchUntilUp(env: NodeJS.ProcessEnv = {}): Promise<Launcher> {
  const launcher = launch(env)
  await eventually(
    () => {
      if (launcher.child.exitCode !== null) return true
      return launcher.output().includes('The system is up')
    },
    { timeoutMs: START_LIMIT_MS, what: 'the welcome text' },
  )
  expect(launcher.output()).toContain('The system is up')
  return launcher
}

function processes(): MarkedProcess[] {
  return existsSync(dataDir)
    ? findMarked(createMark(dataDir).stack).filter(({ name }) => name !== 'postgres-child')
    : []
}

function pidOf(name: string): number {
  const found = processes().find((one) => one.name === name)
  if (found === undefined) throw new Error(`${name} does not run`)
  return found.pid
}

/** A process that has ended meanwhile counts as killed. */
function killNow(pid: number | undefined): void {
  try {
    process.kill(pid ?? 0, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function health(at = port): Promise<number> {
  return (await fetch(`http://127.0.0.1:${at}/v2/health`)).status
}

/** The output of a refused start, which must contain only the reason. */
async function refusalOf({ ended, output }: Launcher): Promise<string> {
  expect(await ended).toBe(1)
  const lines = output().trim().split('\n')
  expect(lines).toHaveLength(1)
  expect(processes()).toEqual([])
  return lines[0] ?? ''
}

describe('the stack starts, survives, and stops', {
  timeout: 300_000,
}, () => {
  test('it starts with private data and the requested number of processes, restarts a process that dies, and ends with code 0', async () => {
    const launcher = await launchUntilUp({ SVC_REPLICAS: 'messaging:2,gateway:2' })
    expect([await health(), await health(port + 1)]).toEqual([200, 200])
    const services = ['boards-1', 'budget-1', 'gateway-1', 'gateway-2', 'identity-1', 'messaging-1', 'messaging-2']
    const names = [...services, 'keeper', 'nats', 'postgres', 'stream-1', 'webhook-1']
    // A process that Postgres has just forked still looks like Postgres itself.
    await eventually(() =>
      expect(
        processes()
          .map(({ name }) => name)
          .toSorted(),
      ).toEqual(names.toSorted()),
    )
    for (const name of readdirSync(dataDir)) expect(statSync(join(dataDir, name)).mode & 0o077, name).toBe(0)

    const second = launch({ SVC_HTTP_PORT: String(await takePorts()) })
    expect(await second.ended).toBe(1)
    expect(second.output()).toMatch(/^The stack is already running on this data.*\n$/)

    const before = pidOf('messaging-1')
    process.kill(before, 'SIGKILL')
    await eventually(() => pidOf('messaging-1') !== before)
    await eventually(async () => (await health()) === 200, { timeoutMs: START_LIMIT_MS })

    launcher.child.kill('SIGTERM')
    expect(await launcher.ended).toBe(0)
    expect(processes()).toEqual([])
    const words = launcher.output()
    expect(words.indexOf('gateway-1    info  stopped')).toBeLessThan(words.indexOf('messaging-2  info  draining'))
  })

  test('the next start finds the data after SIGTERM, after kill -9 of the launcher, and after kill -9 of everything; when Postgres dies, everything ends', async () => {
    const place = { url: `http://127.0.0.1:${port}`, authority: `127.0.0.1:${port}` }
    const first = await launchUntilUp()
    const alice = await new Agent(place).register()
    const ids: string[] = []
    const send = async (): Promise<void> => {
      const envelope = alice.envelope(alice)
      expect((await alice.post('/v2/messages', envelope)).status).toBe(202)
      ids.push(envelope.id)
    }
    await send()
    first.child.kill('SIGTERM')
    await first.ended

    const second = await launchUntilUp()
    await send()
    const leftovers = processes().map(({ pid }) => pid)
    second.child.kill('SIGKILL')
    // The keeper's title changes as soon as it notices that the launcher has ended.
    await eventually(() => !processes().some(({ name }) => name === 'keeper'))

    const third = await launchUntilUp()
    expect(processes().filter(({ pid }) => leftovers.includes(pid))).toEqual([])
    await send()
    for (const pid of [third.child.pid, ...processes().map((one) => one.pid)]) killNow(pid)
    await third.ended

    const fourth = await launchUntilUp()
    for (const id of ids) expect((await alice.get(`/v2/messages/${id}`)).status).toBe(200)
    await endsWithReason(fourth, 'postgres')
  })

  test('a second Ctrl-C does not wait', async () => {
    await using database = await createTestDatabase(STORES)
    const launcher = await launchUntilUp({ SVC_DATABASE_URL: database.adminUrl })
    process.kill(pidOf('messaging-1'), 'SIGSTOP') // so that its drain never ends
    launcher.child.kill('SIGINT')
    await eventually(() => launcher.output().includes('again to stop at once'))
    launcher.child.kill('SIGINT')
    expect(await launcher.ended).toBe(0)
    expect(processes()).toEqual([])
  })

  test('nats dies: everything ends, with the reason', async () => {
    await using database = await createTestDatabase(STORES)
    await endsWithReason(await launchUntilUp({ SVC_DATABASE_URL: inParameters(database.adminUrl) }), 'nats')
  })

  /** The same database as libpq allows to write it: everything in parameters. */
  function inParameters(url: string): string {
    const { user, password, database, hosts } = parseDatabaseUrl(url)
    const [{ host, port }] = hosts
    return `postgres:///?host=${host}&port=${port}&user=${user}&password=${password}&dbname=${database}`
  }

  /** Kills an engine. The launcher must name it, exit with 1 and leave no process. */
  async function endsWithReason(launcher: Launcher, engine: 'nats' | 'postgres'): Promise<void> {
    process.kill(pidOf(engine), 'SIGKILL')
    expect(await launcher.ended).toBe(1)
    const name = { nats: 'NATS', postgres: 'Postgres' }[engine]
    expect(launcher.output()).toContain(`${name} ended by itself (signal SIGKILL)`)
    expect(processes()).toEqual([])
  }
})

describe('if something prevents a start, one clear sentence says so, and nothing stays behind', {
  timeout: 120_000,
}, () => {
  test('a port in use', async () => {
    const holder = createServer().listen(port, '127.0.0.1')
    await once(holder, 'listening')
    try {
      expect(await refusalOf(launch())).toMatch(/^Port \d+ is in use by another program: .*SVC_HTTP_PORT/)
      expect(existsSync(dataDir)).toBe(false)
    } finally {
      holder.close()
    }
  })

  test.runIf(process.platform === 'linux')('a data folder that cannot be created', async () => {
    expect(await refusalOf(launch({ SVC_DATA_DIR: '/proc/svc' }))).toMatch(
      /cannot be written \(E[A-Z]+\): .*SVC_DATA_DIR/,
    )
  })

  test('a data folder that is a file', async () => {
    const file = join(dataDir, 'file')
    writeFileSync(file, '')
    expect(await refusalOf(launch({ SVC_DATA_DIR: join(file, 'data') }))).toMatch(
      /cannot be written \(ENOTDIR\): .*SVC_DATA_DIR/,
    )
  })

  test.skipIf(process.getuid?.() === 0)('a folder that is not writable', async () => {
    chmodSync(dataDir, 0o500)
    expect(await refusalOf(launch())).toMatch(/cannot be written \(EACCES\): .*SVC_DATA_DIR/)
    chmodSync(dataDir, 0o700)
  })

  test('data of another Postgres', async () => {
    mkdirSync(join(dataDir, 'postgres'), { mode: 0o700 })
    writeFileSync(join(dataDir, 'postgres', 'PG_VERSION'), '16\n')
    writeFileSync(join(dataDir, 'secret.key'), 'a'.repeat(64))
    if (process.getuid?.() === 0) chownSync(join(dataDir, 'postgres'), 65534, 65534)
    expect(await refusalOf(launch())).toMatch(/belongs to Postgres 16, but this is Postgres 18/)
  })

  test('data without its key', async () => {
    mkdirSync(join(dataDir, 'postgres'), { mode: 0o700 })
    expect(await refusalOf(launch())).toMatch(/secret\.key is gone/)
  })

  test('ADR 23: data of an earlier version', async () => {
    await using database = await createTestDatabase(['boards'])
    const sql = postgres(database.adminUrl, { max: 1 })
    await sql`update boards.migrations set name = '0001_boards' where name = '0100_baseline'`
    await sql.end()
    expect(await refusalOf(launch({ SVC_DATABASE_URL: database.adminUrl }))).toMatch(
      /SVC_DATABASE_URL has the tables of an earlier version, .* name an empty database\.$/,
    )
  })

  test('an invalid setting', async () => {
    expect(await refusalOf(launch({ SVC_REPLICAS: 'mesaging:2' }))).toMatch(/SVC_REPLICAS has "mesaging:2"/)
  })

  test('an invalid setting of a service', async () => {
    await using database = await createTestDatabase(STORES)
    const launcher = launch({ SVC_DATABASE_URL: database.adminUrl, SVC_POW_DIFFICULTY: 'hard' })
    expect(await launcher.ended).toBe(1)
    expect(launcher.output()).toMatch(/does not start: configuration: SVC_POW_DIFFICULTY must be a whole number/)
    expect(processes()).toEqual([])
  })

  test('an external Postgres that does not answer', async () => {
    const refusal = await refusalOf(launch({ SVC_DATABASE_URL: 'postgres://a:b@127.0.0.1:1/svc' }))
    expect(refusal).toMatch(/SVC_DATABASE_URL\) does not answer \(ECONNREFUSED\)/)
  })
})
