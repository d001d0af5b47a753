/**
 * An upgrade and its rollback with the old release's real code beside the new code, under load. The order is that of
 * docs/operating/upgrade.md: migrations, then one process at a time, then NATS's users, who lose rights in this release. The
 * rollback goes the other way.
 */
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { commandLineOf } from '@svc/processes/marks.ts'
import postgres from 'postgres'
import { Agent } from '../../support/client/agent.ts'
import { startReceiver } from '../../support/stand-ins/webhook-receiver.ts'
import { findWrongBooks, untilResolved } from '../../support/system/books.ts'
import { type FaultSystem, type Release, startFaultSystem, THIS_RELEASE } from '../nemesis/fault-system.ts'
import { startRollingLoad } from '../rolling/load.ts'
import type { OldRelease } from './old-release.ts'

interface UpgradeOptions {
  readonly old: OldRelease
  /** How many correct answers must arrive between two steps. */
  readonly answers: number
  /** Whether NATS gets the new configuration, with its users. */
  readonly natsToo: boolean
  /** Whether the upgrade is rolled back afterwards. */
  readonly back: boolean
  readonly say: (line: string) => void
}

interface UpgradeReport {
  /** Processes whose code was replaced. */
  readonly replaced: number
  readonly answered: number
  readonly streams: number
  readonly deliveries: number
  /** The problems found. The run ends at the first step with a problem. */
  readonly wrong: readonly string[]
}

/** A server logs within this time that it refuses its new configuration. */
const RELOAD_MS = 500
const WARN = 40
/**
 * The new code has another retention, so it cuts time into other partitions than the old code, and both append at the same time
 * (ADR 29).
 */
const NEW_RELEASE: Release = { ...THIS_RELEASE, env: { SVC_RETENTION_DAYS: '11' } }
const PLENTY = '10000000'
const RATES = '1000000'

export async function runUpgrade({ old, answers, natsToo, back, say }: UpgradeOptions): Promise<UpgradeReport> {
  await using started = new AsyncDisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'svc-upgrade-log-'))
  const log = createWriteStream(join(folder, 'problems.log'))
  started.defer(() => void log.end())
  const complaints: string[] = []
  const receiver = started.use(await startReceiver({ trusted: false, folder }))
  const system = started.use(
    await startFaultSystem({
      release: old,
      env: environmentFor(receiver.host, receiver.caFile),
      onProblem: (name, line) => {
        log.write(`${new Date().toISOString()} ${name} ${line}\n`)
        if (name === 'nats') complaints.push(line)
      },
    }),
  )
  for (const name of system.names) checkRuns(system, name, old)
  say(`${system.names.length} processes run the old code; their warnings and errors: ${join(folder, 'problems.log')}`)

  const places = system.urls.map((url) => ({ url, authority: system.authority }))
  const load = started.use(
    await startRollingLoad(
      {
        system,
        agents: (count) =>
          Promise.all(
            Array.from({ length: count }, (_, at) =>
              new Agent(places[at % places.length] ?? { url: '', authority: '' }).register(),
            ),
          ),
      },
      { receiver },
    ),
  )
  let replaced = 0
  const report = (wrong: readonly string[]): UpgradeReport => ({
    replaced,
    answered: load.answered,
    streams: load.streams,
    deliveries: load.deliveries,
    wrong,
  })
  const replaceIn = async (name: string, release: Release): Promise<void> => {
    const [, digits] = /^gateway-(\d+)$/.exec(name) ?? []
    const url = system.urls[Number(digits) - 1]
    // Tell the balancer first, like the `sleep` of deploy/kubernetes. Older gateways do not wait for the balancer by
    // themselves.
    if (url === undefined) await replace(system, name, release)
    else await load.without(url, () => replace(system, name, release))
    await load.allReady()
    replaced += 1
  }
  const steps = async function* (): AsyncGenerator<string> {
    yield 'the old code alone'
    await system.migrate(THIS_RELEASE)
    yield `the old code on the new schema (${old.newSql.join(', ') || 'no new SQL'})`
    for (const name of system.names) {
      await replaceIn(name, NEW_RELEASE)
      yield `${name} is new`
    }
    if (natsToo) {
      await reloadNats(system, old, 'this tree', complaints)
      yield "the new code with NATS's new users"
    }
    if (!back) return
    if (natsToo) {
      await reloadNats(system, old, 'the old release', complaints)
      yield "the new code with NATS's old users"
    }
    // If the old release is deployed again, its job runs its migrations.
    await system.migrate(old)
    yield 'the new code after the migration step of the old one, which is a no-op'
    for (const name of system.names) {
      await replaceIn(name, old)
      yield `${name} is old again`
    }
  }
  try {
    for await (const step of steps()) {
      await load.more(answers)
      say(`${step}: ${load.answered} requests answered, wrong: ${load.wrong.length}`)
      if (load.wrong.length > 0) return report(load.wrong.map((one) => `${step}: ${one}`))
    }
  } catch (error) {
    // a step failed, or answers did not arrive
    return report([error instanceof Error ? error.message : String(error), ...load.wrong])
  }
  say(`messages of both releases are in partitions ${(await usedPartitions(system)).join(', ')}`)
  const found = [...(await load.finish()), ...(await booksOf(system))]
  if (found.length === 0) started.defer(() => rmSync(folder, { recursive: true, force: true }))
  return report(found)
}

/** Replaces a process as an operator does: signals it to stop, waits until it has drained, and starts the other release. */
async function replace(system: FaultSystem, name: string, release: Release): Promise<void> {
  system.setRelease(name, release)
  const { code, reason } = await system.end(name, 'SIGTERM')
  if (code !== 0) throw new Error(`${name} did not drain: ${reason}`)
  await system.untilReady(name).catch(() => {
    const said = system.logOf(name).find(({ level, message }) => level >= WARN && message.includes('Error: '))
    throw new Error(`${name} was not ready in time: ${said?.message ?? 'it does not say why'}`)
  })
  checkRuns(system, name, release)
}

/** Checks that a process was started as one of this release, by its environment (only on Linux). */
function checkRuns(system: FaultSystem, name: string, { env = {} }: Release): void {
  if (process.platform !== 'linux') return
  const given = readFileSync(`/proc/${system.pidOf(name)}/environ`, 'utf8').split('\0')
  for (const [variable, value] of Object.entries(env))
    if (!given.includes(`${variable}=${value}`)) throw new Error(`${name} runs without ${variable}=${value}`)
}

/**
 * Gives NATS the permissions of a release. The new code must work with those of both releases, because NATS gets the new ones
 * after the last process, and the old ones again before the rollback.
 */
async function reloadNats(
  system: FaultSystem,
  old: OldRelease,
  of: Parameters<OldRelease['takeNatsConfig']>[0],
  complaints: readonly string[],
): Promise<void> {
  const [pid = 0] = system.nats.pids()
  const [, serverName] = / -n (\S+)/.exec(commandLineOf(pid) ?? '') ?? []
  if (serverName === undefined) throw new Error('NATS does not run')
  old.takeNatsConfig(of, serverName)
  system.signal(pid, 'SIGHUP')
  await sleep(RELOAD_MS)
  const refused = complaints.find((line) => /reload/i.test(line))
  if (refused !== undefined) throw new Error(`NATS refuses the configuration of ${of}: ${refused}`)
}

/** The partitions of messages that hold rows. */
async function usedPartitions(system: FaultSystem): Promise<number[]> {
  const admin = postgres(system.adminUrl, { max: 1, onnotice: () => {} })
  try {
    const rows = await admin<{ slot: number }[]>`
      select distinct (place >> 56)::integer as slot from messaging.messages order by slot`
    return rows.map(({ slot }) => slot)
  } finally {
    await admin.end({ timeout: 5 })
  }
}

async function booksOf(system: FaultSystem): Promise<string[]> {
  const admin = postgres(system.adminUrl, { max: 1, onnotice: () => {} })
  try {
    await untilResolved(admin)
    return (await findWrongBooks(admin)).map((row) => `the books: ${JSON.stringify(row)}`)
  } finally {
    await admin.end({ timeout: 5 })
  }
}

function environmentFor(host: string, caFile: string): NodeJS.ProcessEnv {
  return {
    SVC_POW_DIFFICULTY: '4',
    SVC_RATE_PER_SECOND: RATES,
    SVC_RATE_BURST: RATES,
    SVC_REGISTRATION_RATE_PER_SECOND: RATES,
    SVC_REGISTRATION_RATE_BURST: RATES,
    SVC_DAILY_FREE_UNITS: PLENTY,
    SVC_DAILY_HARD_LIMIT: PLENTY,
    // the balancer checks readiness ten times in this time (keep-alive-client.ts)
    SVC_DRAIN_SECONDS: '1',
    SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS: host,
    SVC_WEBHOOK_BACKOFF_SECONDS: '0,1,2,4,8',
    NODE_EXTRA_CA_CERTS: caFile,
  }
}
