/**
 * The pace of direct messages as the stored number grows. Senders work at full speed until a given number of messages is
 * stored. Without a time to live, the full system is then compared with an empty one. With one, as many messages expire as
 * arrive, so the sizes of tables should stop growing, and the books are verified at the end. Each row is one period of sending.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import { lineChart } from '../../../support/charts/line-chart.ts'
import { type BenchSystem, startBenchSystem, startGenerator } from '../bench-system.ts'
import { median } from '../load/http-load.ts'
import type { Round } from '../rounds.ts'
import { compareWithEmpty } from './beside-empty.ts'
import { createSend } from './senders.ts'
import { diskOf, type Relation, relationsOf, type ServerCounts } from './steady-counts.ts'

interface SteadyOptions {
  readonly connections: number
  readonly agents: number
  /** The run ends when this many were accepted. */
  readonly messages: number
  /** Seconds after which a message expires; 0 for the retention of the service. */
  readonly ttlSeconds: number
  /** Prints each n-th row. The chart has all of them. */
  readonly every: number
  /** The file for an SVG chart of the pace. */
  readonly chart: string | undefined
}

/** The values of a row besides the server's counts. */
interface Row extends ServerCounts {
  readonly messages: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** CPU milliseconds for each message, by process. */
  readonly cpuMs: Readonly<Record<string, number>>
}

const ROW_SECONDS = 10
/** More than most machines accept. The generator signs them before the row begins, while nothing else happens. */
const PREPARED_PER_SECOND = 6_000
/** Requests to sign for a row, relative to the number that the previous row needed. */
const PREPARED_SHARE = 1.3
const WARM_UP_SECONDS = 12
/** The end of the run is compared with this many messages at its beginning. */
const FIRST_MESSAGES = 100_000
/** The end of the run: long enough for at least one checkpoint. */
const LAST_SHARE = 1 / 5
const MIB = 1024 * 1024

/** @returns false if the books do not add up. */
export async function benchSteady(options: SteadyOptions): Promise<boolean> {
  const { messages, ttlSeconds, connections, every, chart } = options
  // The retention is as short as the time to live, so that partitions are emptied in step with it.
  await using system = await startBenchSystem(
    ttlSeconds === 0 ? {} : { SVC_RETENTION_DAYS: String(ttlSeconds / 86_400) },
  )
  await using stack = new AsyncDisposableStack()
  const generator = stack.adopt(startGenerator(), (child) => void child.kill())
  const sql = stack.adopt(postgres(system.adminUrl, { max: 1, onnotice: () => {} }), (open) => open.end())
  const send = await createSend({ system, generator }, options)

  const warmUp = await send(WARM_UP_SECONDS, WARM_UP_SECONDS * PREPARED_PER_SECOND)
  const life = ttlSeconds === 0 ? 'kept' : `expiring after ${ttlSeconds} s`
  console.log(`Direct messages, ${connections} connections, ${life}; each row is ${ROW_SECONDS} s of sending\n`)
  console.log(
    '| messages | accepted/s | p50 ms | p99 ms | Postgres CPU ms | services CPU ms | WAL bytes | of it full pages | checkpoints | dead rows | MiB | partitions to empty |',
  )
  console.log('|---|---|---|---|---|---|---|---|---|---|---|---|')
  const began = await relationsOf(sql)
  const rows: Row[] = []
  let accepted = 0
  let lastAccepted = (warmUp.accepted * ROW_SECONDS) / WARM_UP_SECONDS
  let before = await diskOf(sql)
  while (accepted < messages) {
    const round = await send(ROW_SECONDS, Math.ceil(lastAccepted * PREPARED_SHARE))
    const after = await diskOf(sql)
    if (round.accepted === 0) throw new Error(`nothing was accepted: ${JSON.stringify(round.refused)}`)
    accepted += round.accepted
    lastAccepted = round.accepted
    const row = rowOf(round, accepted, before, after)
    before = after
    rows.push(row)
    if ((rows.length - 1) % every === 0 || accepted >= messages) print(row)
  }
  printEnds(rows)
  printRelations(began, await relationsOf(sql), accepted)
  if (chart !== undefined) {
    writeFileSync(chart, chartOf(rows, life))
    console.log(`\nchart: ${chart}`)
  }
  if (ttlSeconds > 0) return verifyBooks(system)
  const empty = stack.use(await startBenchSystem())
  await compareWithEmpty(send, await createSend({ system: empty, generator }, options))
  return true
}

/** Runs `svc admin verify`: what was charged still agrees with what was done, although most messages are gone. */
function verifyBooks({ dataDir }: BenchSystem): boolean {
  console.log('\nThe books, with `svc admin verify`:\n')
  const { status } = spawnSync(process.execPath, ['clients/cli/src/main.ts', 'admin', 'verify'], {
    env: { ...process.env, SVC_NATS_URL: readFileSync(join(dataDir, 'admin-nats-url'), 'utf8').trim() },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  return status === 0
}

function rowOf(
  { accepted, elapsedMs, p50Ms, p99Ms, cpu }: Round,
  messages: number,
  before: ServerCounts,
  after: ServerCounts,
): Row {
  return {
    ...after,
    walBytes: (after.walBytes - before.walBytes) / accepted,
    fullPageBytes: (after.fullPageBytes - before.fullPageBytes) / accepted,
    messages,
    perSecond: (accepted / elapsedMs) * 1_000,
    p50Ms,
    p99Ms,
    cpuMs: Object.fromEntries(Object.entries(cpu).map(([name, ms]) => [name, ms / accepted])),
  }
}

function postgresMs({ cpuMs }: Row): number {
  return cpuMs.postgres ?? 0
}

function servicesMs({ cpuMs }: Row): number {
  const { postgres: _, generator: __, ...services } = cpuMs
  return Object.values(services).reduce((sum, ms) => sum + ms, 0)
}

function print(row: Row): void {
  const cells = [
    row.messages,
    row.perSecond.toFixed(0),
    row.p50Ms.toFixed(1),
    row.p99Ms.toFixed(1),
    postgresMs(row).toFixed(3),
    servicesMs(row).toFixed(3),
    row.walBytes.toFixed(0),
    row.fullPageBytes.toFixed(0),
    row.checkpoints,
    row.deadRows,
    (row.bytes / MIB).toFixed(0),
    row.overdue,
  ]
  console.log(`| ${cells.join(' | ')} |`)
}

/** Compares the last rows with the first. */
function printEnds(rows: readonly Row[]): void {
  const count = rows.findIndex(({ messages }) => messages >= FIRST_MESSAGES) + 1 || rows.length
  const [first, last] = [rows.slice(0, count), rows.slice(-Math.ceil(rows.length * LAST_SHARE))]
  const ratioOf = (of: (row: Row) => number): string => (median(last.map(of)) / median(first.map(of))).toFixed(2)
  const what = `the last ${last.length} rows of ${rows.length}, compared with the first ${count}`
  const figures = `pace ${ratioOf((row) => row.perSecond)}, p99 ${ratioOf((row) => row.p99Ms)}, CPU of Postgres ${ratioOf(postgresMs)}`
  console.log(`\nMedians of ${what}: ${figures}`)
  console.log('\n| process | CPU ms for each message, first rows | last rows |\n|---|---|---|')
  for (const name of Object.keys(rows[0]?.cpuMs ?? {})) {
    const cells = [first, last].map((part) => median(part.map(({ cpuMs }) => cpuMs[name] ?? 0)).toFixed(3))
    console.log(`| ${[name, ...cells].join(' | ')} |`)
  }
}

/** The growth of each table and index. */
function printRelations(before: readonly Relation[], after: readonly Relation[], messages: number): void {
  console.log('\n| table or index | MiB at the end | growth in bytes for each message |\n|---|---|---|')
  const grown = after
    .map(({ name, bytes }) => ({
      name,
      mib: bytes / MIB,
      each: (bytes - (before.find((one) => one.name === name)?.bytes ?? 0)) / messages,
    }))
    .filter(({ each }) => Math.abs(each) >= 1)
    .sort((a, b) => b.each - a.each)
  for (const { name, mib, each } of grown) console.log(`| ${name} | ${mib.toFixed(0)} | ${each.toFixed(0)} |`)
}

function chartOf(rows: readonly Row[], life: string): string {
  return lineChart({
    title: `Pace of direct messages (${life})`,
    across: 'messages accepted',
    lines: [
      { name: 'accepted per second', points: rows.map((row) => [row.messages, row.perSecond]) },
      { name: 'p99, ms', points: rows.map((row) => [row.messages, row.p99Ms]) },
    ],
  })
}
