/**
 * The disk space of a direct message: rows and their indexes, Postgres's log, JetStream's stream. It does not depend on the
 * load of the machine.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ACCEPTED_STREAM } from '@svc/contracts/accepted.ts'
import { connectNats, drainNats, type Nats } from '@svc/nats/connect.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import postgres from 'postgres'
import { startBenchSystem, startGenerator } from '../bench-system.ts'
import { registerMany } from '../load/bench-agents.ts'
import { loaderOf } from '../rounds.ts'
import { measureUpkeep, postponeVacuum } from './upkeep.ts'

const AGENTS = 128
const PAGE_BYTES = 8_192
const SETTLED_LIMIT_MS = 60_000

interface StorageOptions {
  connections: number
  rounds: number
  secondsPerRound: number
}

interface Disk {
  /** Bytes of a table with its indexes, by `schema.table`. */
  tables: Map<string, number>
  walBytes: number
  walPages: number
  streamBytes: number
  streamMessages: number
}

export async function benchStorage({ connections, rounds, secondsPerRound }: StorageOptions): Promise<void> {
  await using system = await startBenchSystem()
  await using stack = new AsyncDisposableStack()
  const generator = stack.adopt(startGenerator(), (child) => void child.kill())
  const sql = stack.adopt(postgres(system.adminUrl, { max: 1, onnotice: () => {} }), (open) => open.end())
  const url = readFileSync(join(system.dataDir, 'admin-nats-url'), 'utf8').trim()
  const logger = createLogger('bench', 'silent')
  const nats = stack.adopt(await connectNats({ url, name: 'bench', logger, asOperator: true }), drainNats)
  const agents = await registerMany(AGENTS, system.authority)
  const load = loaderOf(generator, system, agents)
  const send = (): Promise<{ accepted: number }> =>
    load({ kind: 'messages' }, { connections, count: 4_000 * secondsPerRound, seconds: secondsPerRound })

  await postponeVacuum(sql)
  const { accepted: warmUp } = await send() // after this, every pair is known and every table has rows
  await untilSettled(sql)
  // Postgres logs full pages after a checkpoint, as in production, where a checkpoint runs every few minutes.
  await sql`checkpoint`
  const before = await measure(sql, nats)
  let messages = 0
  for (let round = 0; round < rounds; round += 1) messages += (await send()).accepted
  await untilSettled(sql)
  const after = await measure(sql, nats)
  const upkeep = await measureUpkeep(sql, system, warmUp + messages)

  const each = (bytes: number): string => (bytes / messages).toFixed(0)
  const rows = [...after.tables]
    .map(([name, bytes]) => ({ name, bytes: bytes - (before.tables.get(name) ?? 0) }))
    .filter(({ bytes }) => bytes / messages >= 1)
    .sort((a, b) => b.bytes - a.bytes)
  console.log(`${messages} direct messages with bodies of about 100 bytes between ${AGENTS} agents\n`)
  console.log('| bytes for each message | |\n|---|---|')
  for (const { name, bytes } of rows) console.log(`| ${name}, with its indexes | ${each(bytes)} |`)
  console.log(`| all tables | ${each(rows.reduce((sum, { bytes }) => sum + bytes, 0))} |`)
  console.log(`| log of Postgres (WAL) | ${each(after.walBytes - before.walBytes)} |`)
  console.log(
    `| whole pages in the WAL, written after a checkpoint | ${each((after.walPages - before.walPages) * PAGE_BYTES)} |`,
  )
  const streamBytes = (after.streamBytes - before.streamBytes) / (after.streamMessages - before.streamMessages)
  console.log(`| stream ${ACCEPTED_STREAM} | ${streamBytes.toFixed(0)} |`)
  console.log(`| WAL of vacuum, later | ${upkeep.walBytes.toFixed(0)} |`)
  console.log(`\nVacuum cost Postgres ${upkeep.ms.toFixed(3)} ms of CPU for each message, after it was sent.`)
}

async function measure(sql: postgres.Sql, nats: Nats): Promise<Disk> {
  const tables = await sql<{ name: string; bytes: string }[]>`
    select n.nspname || '.' || coalesce(p.relname, c.relname) as name, sum(pg_total_relation_size(c.oid)) as bytes
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
    where c.relkind = 'r' and n.nspname in ('identity', 'messaging', 'boards', 'budget', 'stream', 'webhook') group by 1`
  const [wal] = await sql<
    { bytes: string; pages: string }[]
  >`select wal_bytes as bytes, wal_fpi as pages from pg_stat_wal`
  const answer = await nats.connection.request(`$JS.API.STREAM.INFO.${ACCEPTED_STREAM}`)
  const { state } = answer.json<{ state: { bytes: number; messages: number } }>()
  return {
    tables: new Map(tables.map(({ name, bytes }) => [name, Number(bytes)])),
    walBytes: Number(wal?.bytes),
    walPages: Number(wal?.pages),
    streamBytes: state.bytes,
    streamMessages: state.messages,
  }
}

/** Waits until everything is settled, and the server has updated its statistics. */
async function untilSettled(sql: postgres.Sql): Promise<void> {
  const limit = Date.now() + SETTLED_LIMIT_MS
  for (;;) {
    const [left] = await sql<{ rows: string }[]>`
      select count(*) as rows from budget.reservations where state = 'held'`
    if (Number(left?.rows) === 0) break
    if (Date.now() > limit) throw new Error('the reservations are still changing')
    await sleep(100)
  }
  await sleep(1_500)
}
