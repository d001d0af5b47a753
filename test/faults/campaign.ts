/** Runs rounds of work on a system under faults. Each round has its own agents, and is checked when the system is idle. */
import { createWriteStream, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { watchAnswers } from '../support/description/described-answers.ts'
import { startOperator } from '../support/system/operator.ts'
import { check } from './checker/check.ts'
import { readFinal, untilAtRest } from './checker/final.ts'
import type { Violation } from './checker/violation.ts'
import { readHistory } from './history/history.ts'
import type { Fault } from './nemesis/fault.ts'
import { type FaultSystem, type FaultSystemOptions, startFaultSystem } from './nemesis/fault-system.ts'
import { CLOCK_STEP_MS, clockStep } from './nemesis/faults/clock-step.ts'
import { startHookReceiver } from './workload/hook-receiver.ts'
import { createRandom } from './workload/random.ts'
import { type RoundOptions, runRound } from './workload/round.ts'

interface CampaignOptions {
  readonly seed: number
  /** New rounds begin until this time is over and `rounds` have run. */
  readonly minutes?: number
  /** The minimum number of rounds; 1 by default. */
  readonly rounds?: number
  /** How long the agents of a round act. */
  readonly roundSeconds: number
  readonly actors: number
  /** Without faults, no request may get a 503 or stay unanswered. */
  readonly faults: readonly Fault[]
  /** Default: all operations of the API. */
  readonly operations?: RoundOptions['operations']
  readonly system?: Pick<FaultSystemOptions, 'replicas' | 'env'>
  /** Called after each round. */
  readonly onRound?: (round: RoundReport) => void
}

export interface RoundReport {
  readonly seed: number
  readonly operations: number
  readonly attempts: number
  /** Requests by outcome: `202`, `503 unavailable`, `lost`. */
  readonly outcomes: Readonly<Record<string, number>>
  /** Faults by kind. */
  readonly faults: Readonly<Record<string, number>>
  /** Partitions of messages that were emptied meanwhile. */
  readonly emptied: number
  readonly violations: readonly Violation[]
  readonly history: string
}

/** Some agents of a round stay below these limits, and others reach them. */
const CAMPAIGN_LIMITS = { freeUnits: 80, hardLimit: 320, introductions: 8 }

const MINUTE_MS = 60_000
const WATCH_MS = 2_000
/** Checks that no reservation is older than its deadline plus a minute. */
const OVERDUE_MS = 60_000

export async function runCampaign(options: CampaignOptions): Promise<RoundReport[]> {
  await using started = new AsyncDisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'svc-faults-history-'))
  const hooks = started.use(await startHookReceiver(folder))
  // Warnings and errors of engines and processes. They are many, and help to explain a violation.
  const log = createWriteStream(join(folder, 'problems.log'))
  started.defer(() => void log.end())
  const system = started.use(
    await startFaultSystem({
      onProblem: (name, line) => void log.write(`${new Date().toISOString()} ${name} ${line}\n`),
      isProxied: options.faults.length > 0,
      ...options.system,
      env: { ...environmentFor(hooks.host, hooks.caFile), ...options.system?.env },
    }),
  )
  const answers = started.use(await watchAnswers(system.urls))
  const operator = started.use(await startOperator({ nats: { urlFor: system.natsUrlFor } }))
  const random = createRandom(options.seed)
  const { minutes = 0, rounds = 1 } = options
  const untilMs = Date.now() + minutes * MINUTE_MS
  const reports: RoundReport[] = []
  do {
    // The first round uses the seed itself, so that the printed seed of a round repeats it.
    const seed = reports.length === 0 ? options.seed : random.fork(`round ${reports.length}`).int(1, 2 ** 31 - 1)
    const report = await runOne(options, { system, hooks, operator, folder, seed })
    reports.push(report)
    options.onRound?.(report)
  } while (reports.length < rounds || Date.now() < untilMs)
  try {
    answers.check()
  } catch (error) {
    const last = reports.pop()
    const violation = { rule: 'answers match the OpenAPI description', text: String(error) }
    if (last !== undefined) reports.push({ ...last, violations: [...last.violations, violation] })
  }
  return reports
}

async function runOne(
  { actors, faults, roundSeconds, operations }: CampaignOptions,
  shared: Pick<RoundOptions, 'system' | 'hooks' | 'operator' | 'folder' | 'seed'>,
): Promise<RoundReport> {
  const { system, seed } = shared
  await using overdue = watchReservations(system)
  const emptiedBefore = await findEmptied(system)
  await using round = await runRound({
    ...shared,
    actors,
    faults,
    seconds: roundSeconds,
    ...(operations === undefined ? {} : { operations }),
  })
  const restless = await untilAtRest(round, system)
  const readFromMs = Date.now()
  const final = await readFinal(round, system)
  const readUntilMs = Date.now()
  const emptied = (await findEmptied(system)).filter((time, slot) => time !== emptiedBefore[slot]).length
  await Promise.all(round.followers.map((follower) => follower.stop()))
  await round.history.flush()
  const entries = await readHistory(round.history.path)
  const violations = [
    ...restless.map((text) => ({ rule: 'everything comes to rest', text })),
    ...overdue.found.map((text) => ({ rule: 'no reservation is older than its deadline plus a minute', text })),
    ...check(entries, final, {
      limits: CAMPAIGN_LIMITS,
      readFromMs,
      readUntilMs,
      skewMs: skewOf(faults),
      calm: faults.length === 0,
    }),
  ]
  const calls = entries.filter((entry) => entry.type === 'call')
  const outcomes = entries.flatMap((entry) =>
    entry.type === 'answer' ? [entry.status === null ? 'lost' : `${entry.status} ${entry.body.code ?? ''}`.trim()] : [],
  )
  return {
    seed,
    operations: new Set(calls.map(({ op }) => op)).size,
    attempts: calls.length,
    outcomes: countOf(outcomes),
    faults: countOf(
      entries.flatMap((entry) => (entry.type === 'fault' && entry.phase === 'begin' ? [entry.name] : [])),
    ),
    emptied,
    violations,
    history: round.history.path,
  }
}

/** When each partition of messages was emptied last. */
async function findEmptied({ adminUrl }: FaultSystem): Promise<(string | null)[]> {
  const sql = postgres(adminUrl, { max: 1, onnotice: () => {} })
  try {
    const slots = await sql<{ emptied: string | null }[]>`
      select emptied_at::text as emptied from messaging.slots order by slot`
    return slots.map(({ emptied }) => emptied)
  } finally {
    await sql.end({ timeout: 5 })
  }
}

/** How far clocks may be wrong. If the faults include clock steps, a failure that a wrong clock causes is not a violation. */
function skewOf(faults: readonly Fault[]): number {
  return faults.includes(clockStep) ? CLOCK_STEP_MS : 0
}

function countOf(items: readonly string[]): Record<string, number> {
  const counts = Map.groupBy(items, (item) => item)
  return Object.fromEntries([...counts].map(([item, all]): [string, number] => [item, all.length]).toSorted())
}

/** Looks for unresolved reservations, from the start of a round to its end. */
function watchReservations({ adminUrl }: FaultSystem): AsyncDisposable & { readonly found: string[] } {
  const stop = new AbortController()
  const sql = postgres(adminUrl, { max: 1, connect_timeout: 2, onnotice: () => {} })
  const found: string[] = []
  const done = watch()
  return {
    found,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await done
      await sql.end({ timeout: 5 })
    },
  }

  async function watch(): Promise<void> {
    while (!stop.signal.aborted) {
      await sleep(WATCH_MS, undefined, { signal: stop.signal }).catch(() => {})
      try {
        const rows = await sql`
          select operation from budget.reservations
          where state = 'held' and deadline_ms < extract(epoch from clock_timestamp()) * 1000 - ${OVERDUE_MS}`
        for (const { operation } of rows) if (!found.includes(operation)) found.push(operation)
      } catch {
        // the database is down at this moment
      }
    }
  }
}

function environmentFor(host: string, caFile: string): NodeJS.ProcessEnv {
  const plenty = '1000000'
  return {
    SVC_POW_DIFFICULTY: '2',
    SVC_RATE_PER_SECOND: plenty,
    SVC_RATE_BURST: plenty,
    SVC_REGISTRATION_RATE_PER_SECOND: plenty,
    SVC_REGISTRATION_RATE_BURST: plenty,
    SVC_DAILY_FREE_UNITS: String(CAMPAIGN_LIMITS.freeUnits),
    SVC_DAILY_HARD_LIMIT: String(CAMPAIGN_LIMITS.hardLimit),
    SVC_DAILY_INTRODUCTIONS: String(CAMPAIGN_LIMITS.introductions),
    SVC_STREAM_HEARTBEAT_SECONDS: '1',
    SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS: host,
    SVC_WEBHOOK_BACKOFF_SECONDS: '0,1,2,4,8',
    SVC_WEBHOOK_ATTEMPT_SECONDS: '3',
    SVC_WEBHOOK_LEASE_SECONDS: '5',
    NODE_EXTRA_CA_CERTS: caFile,
    // Longer than a round, so a message without a time to live does not expire during one. A partition is emptied every 80 s.
    SVC_RETENTION_DAYS: String(480 / 86_400),
  }
}
