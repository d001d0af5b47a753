/**
 * How long senders get no 202 during a failover of Postgres. The whole system runs on two servers with synchronous
 * replication. The primary fails, and the standby is promoted at once. A cluster manager needs additional time to notice
 * the failure.
 */
import { startSenders } from '../../support/client/senders.ts'
import { type PostgresPair, startPostgresPair } from '../../support/engines/postgres/postgres-pair.ts'
import setupEngines from '../../support/run/global-setup.ts'
import { startHarness } from '../../support/system/harness.ts'
import { median } from './load/http-load.ts'

interface FailoverOptions {
  /** Failovers of each kind. */
  readonly rounds: number
  /** Senders; each has one message under way. */
  readonly connections: number
}

/** Times from the promotion until the first sender, and until every sender, received an acceptance. */
interface Failover {
  readonly firstMs: number
  readonly allMs: number
}

const KINDS: Readonly<Record<string, (pair: PostgresPair) => unknown>> = {
  'its processes are killed': (pair) => pair.killPrimary(),
  'it is shut down': (pair) => pair.stopPrimary(),
  'it stops answering': (pair) => pair.freezePrimary(),
}
const LIMIT_MS = 10_000
const MS_BETWEEN = 1_000

/** @returns whether every sender was served again in time, in every round. */
export async function benchFailover({ rounds, connections }: FailoverOptions): Promise<boolean> {
  const closeEngines = await setupEngines()
  const measured = new Map<string, Failover[]>()
  try {
    const pair = await startPostgresPair({ durable: true })
    const env = { SVC_DAILY_FREE_UNITS: '1000000', SVC_DAILY_HARD_LIMIT: '1000000' }
    await using h = await startHarness({ database: pair.database, env })
    const recipients = await h.agents(connections)
    const agents = await h.agents(connections)
    for (const recipient of recipients) await recipient.patch('/v2/me', { inbox_policy: 'open' })
    const senders = startSenders(agents.map((agent, at) => [agent, recipients[at] ?? agent] as const))
    for (const [kind, lose] of Object.entries(KINDS)) {
      const times: Failover[] = []
      for (let round = 0; round < rounds; round += 1) {
        await senders.untilEachAccepted()
        await new Promise((resolve) => setTimeout(resolve, MS_BETWEEN))
        await lose(pair)
        await pair.promote()
        const promotedMs = performance.now()
        const [firstMs, allMs] = await Promise.all([
          senders.untilOneAccepted().then(() => performance.now() - promotedMs),
          senders.untilEachAccepted().then(() => performance.now() - promotedMs),
        ])
        times.push({ firstMs, allMs })
        await pair.rejoin()
      }
      measured.set(kind, times)
    }
    await senders.stop()
  } finally {
    await closeEngines()
  }
  return print(measured, { rounds, connections })
}

function print(measured: ReadonlyMap<string, Failover[]>, { rounds, connections }: FailoverOptions): boolean {
  console.log(
    `${connections} senders, ${rounds} failovers of each kind. Seconds after the promotion, median and longest:\n`,
  )
  console.log('| the primary goes | first message accepted | | every sender has an acceptance | |')
  console.log('|---|---|---|---|---|')
  const seconds = (times: number[]): string =>
    `${(median(times) / 1_000).toFixed(2)} | ${(Math.max(...times) / 1_000).toFixed(2)}`
  for (const [kind, times] of measured) {
    const [first, all] = [times.map(({ firstMs }) => firstMs), times.map(({ allMs }) => allMs)]
    console.log(`| ${kind} | ${seconds(first)} | ${seconds(all)} |`)
  }
  const isHeld = [...measured.values()].flat().every(({ allMs }) => allMs < LIMIT_MS)
  console.log(`\n${isHeld ? 'held' : 'BROKEN'}  every sender served within ${LIMIT_MS / 1_000} s of the promotion`)
  return isHeld
}
