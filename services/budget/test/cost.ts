/**
 * `node services/budget/test/cost.ts` measures the cost of reserve and settle for each item, over one connection. It starts a
 * Postgres of its own, with fsync on. CPU time is that of the connection's backend, read from /proc, so this runs only on Linux.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startPostgres } from '@svc/local/engines/postgres.ts'
import { migrateStores, prepareRoles, storeUrl } from '@svc/local/engines/roles.ts'
import { openDatabase } from '@svc/postgres/database.ts'
import { createMark } from '@svc/processes/marks.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { reserveBatch } from '../src/store/reserve.ts'
import { settleBatch } from '../src/store/settle.ts'

const AGENTS = 2_000
const BATCH_SIZES = [1, 16, 64, 128]
const ITEMS = 25_600
const MAX_BATCHES = 3_000
const ALLOWANCES = { freeUnits: 1e9, hardLimit: 1e9, introductions: 1e9 }
/** The length of a tick in /proc/<pid>/stat. */
const TICK_MICROSECONDS = 10_000

const folder = mkdtempSync(join(tmpdir(), 'svc-budget-cost-'))
await using stack = new AsyncDisposableStack()
stack.defer(() => rmSync(folder, { recursive: true, force: true }))
const password = 'abcdef'
const engine = await startPostgres({
  folder,
  mark: createMark(folder),
  password,
  durable: true,
  maxConnections: 20,
  sharedBuffersMib: 256,
  onProblem: console.error,
})
stack.defer(async () => void (await engine.stop()))
const setup = { adminUrl: engine.url, stores: ['budget'] as const, passwordOf: () => password }
await prepareRoles(setup)
await migrateStores({ ...setup, schemaDirOf: () => fileURLToPath(new URL('../database', import.meta.url)) })
const logger = createLogger('cost', 'warn')
const { sql } = stack.use(openDatabase({ url: storeUrl(setup, 'budget'), application: 'cost', logger, poolSize: 1 }))
const [{ pid } = { pid: 0 }] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`

let made = 0
await measure(64, 200) // warm-up: fills the tables and caches the plans
console.log('items in a batch | reserve: µs elapsed, of CPU | settle: µs elapsed, of CPU')
for (const size of BATCH_SIZES) {
  const { reserve, settle } = await measure(size, Math.min(MAX_BATCHES, ITEMS / size))
  console.log(`${size} | ${reserve} | ${settle}`)
}

async function measure(size: number, batches: number): Promise<{ reserve: string; settle: string }> {
  const all = Array.from({ length: batches }, () => Array.from({ length: size }, newItem))
  const reserve = await perItem(size * batches, async () => {
    for (const items of all) await reserveBatch(sql, ALLOWANCES, items)
  })
  const settle = await perItem(size * batches, async () => {
    for (const items of all)
      await settleBatch(
        sql,
        items.map(({ operation }) => operation),
        false,
      )
  })
  return { reserve, settle }
}

async function perItem(count: number, work: () => Promise<void>): Promise<string> {
  const [cpuBefore, before] = [cpuMicroseconds(), performance.now()]
  await work()
  const elapsed = ((performance.now() - before) * 1000) / count
  return `${elapsed.toFixed(1)}, ${((cpuMicroseconds() - cpuBefore) / count).toFixed(1)}`
}

/** User and system time of the backend process. */
function cpuMicroseconds(): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * TICK_MICROSECONDS
}

/** Picks each agent in turn. It always writes to the same other agent, so only the first round has first contacts. */
function newItem() {
  const at = made
  made += 1
  return {
    operation: `messaging:message:message-${at}:${String(at).padStart(64, '0')}`,
    owner: 'messaging',
    agentId: `Agent${String(at % AGENTS).padStart(39, 'x')}`,
    units: 1,
    introductionPeer: `Agent${String((at * 7) % AGENTS).padStart(39, 'x')}`,
    holdMs: 10_000,
  }
}
