/**
 * A backlog of the outbox, as after an outage of NATS. Measures how fast it is published while senders continue at full
 * speed, compared with the pace of new messages without a backlog.
 */
import postgres from 'postgres'
import { startBenchSystem, startGenerator } from '../bench-system.ts'
import { createBenchAgent, dataOf, registerAgent } from '../load/bench-agents.ts'
import { median } from '../load/http-load.ts'
import { type Round, rateOf, runRound } from '../rounds.ts'

interface BacklogOptions {
  readonly connections: number
  readonly agents: number
  readonly rounds: number
  readonly secondsPerRound: number
  /** Rows of the outbox, with one message each. */
  readonly rows: number
}

/** Messages that one statement stores. */
const CHUNK = 50_000
const PREPARED_PER_SECOND = 4_000

export async function benchBacklog({ connections, rounds, secondsPerRound, rows, ...options }: BacklogOptions) {
  await using system = await startBenchSystem()
  await using stack = new AsyncDisposableStack()
  const generator = stack.adopt(startGenerator(), (child) => void child.kill())
  const sql = stack.adopt(postgres(system.adminUrl, { max: 1, onnotice: () => {} }), (open) => open.end())
  const agents = Array.from({ length: options.agents }, (_, index) => createBenchAgent(`bench-${index}`))
  for (const agent of agents) await registerAgent(agent, `http://${system.authority}`, system.authority)
  const send = (): Promise<Round> =>
    runRound(generator, system.cpu, {
      work: { kind: 'messages' },
      port: system.port,
      connections,
      count: PREPARED_PER_SECOND * secondsPerRound,
      cycle: false,
      limitMs: secondsPerRound * 1_000,
      authority: system.authority,
      agents: agents.map(dataOf),
    })

  await send() // warm-up
  const without: Round[] = []
  for (let round = 0; round < rounds; round += 1) without.push(await send())
  const normal = rateOf(without)

  const [last] = await sql<{ id: number }[]>`select max(id)::int as id from messaging.outbox`
  const first = (last?.id ?? 0) + 1
  await storeBacklog(sql, rows)
  const countLeft = async (): Promise<number> => {
    const [row] = await sql<{ count: number }[]>`
      select count(*)::int as count from messaging.outbox
      where published_at is null and id between ${first} and ${first + rows - 1}`
    return row?.count ?? 0
  }

  console.log(
    `Without a backlog ${normal.toFixed(0)} messages/s are accepted and published, ${connections} connections.`,
  )
  console.log(`Then ${rows} rows of the outbox wait, and senders go on. Each row is ${secondsPerRound} s of sending:\n`)
  console.log('| accepted/s | backlog published/s | backlog left |')
  console.log('|---|---|---|')
  const [accepted, published]: [number[], number[]] = [[], []]
  let left = await countLeft()
  let sinceMs = performance.now()
  while (left > 0) {
    const round = await send()
    const [now, nowMs] = [await countLeft(), performance.now()]
    // Signing the next round's requests takes time too, and the backlog shrinks meanwhile.
    published.push(((left - now) / (nowMs - sinceMs)) * 1_000)
    accepted.push(rateOf([round]))
    ;[left, sinceMs] = [now, nowMs]
    console.log(`| ${accepted.at(-1)?.toFixed(0)} | ${published.at(-1)?.toFixed(0)} | ${left} |`)
  }
  // The last period ends early.
  const pace = median(published.length > 1 ? published.slice(0, -1) : published)
  console.log(`\nMedians: backlog ${pace.toFixed(0)}/s, ${(pace / normal).toFixed(2)} of the normal pace;`)
  console.log(
    `new messages ${median(accepted).toFixed(0)}/s, ${(median(accepted) / normal).toFixed(2)} of the normal pace`,
  )
}

/** Stores messages of made-up agents, committed but unpublished, as if by processes that have died since. */
async function storeBacklog(sql: postgres.Sql, rows: number): Promise<void> {
  const LOGS = 5_000
  await sql`insert into messaging.logs (id, head) select 'backlog-' || n, 0 from generate_series(0, ${LOGS - 1}::int) n`
  for (let from = 0; from < rows; from += CHUNK) {
    await sql`
      with numbered as materialized (
        select n, 'backlog-' || n as id, 'backlog-' || n % ${LOGS}::int as log, n / ${LOGS}::int + 1 as position,
          extract(epoch from now())::bigint as now,
          messaging.new_place(extract(epoch from now())::bigint + 2000000, 2592000) as place
        from generate_series(${from}::int, ${Math.min(from + CHUNK, rows) - 1}::int) n
      ), messages as (
        insert into messaging.messages (place, id, digest, sender, recipient, lane, position, envelope, accepted_at, expires_at, batch,
          ordinal)
        select place, id, sha256(id::bytea), 'sender', log, 'inbox', position,
          '{"id":"' || id || '","body":"' || repeat('x', 400) || '"}', now, now + 2000000,
          pg_current_xact_id()::text::bigint, n
        from numbered
      ), entries as (
        insert into messaging.entries (log, kind, position, message, expires_at)
        select log, 'inbox', position, place, now + 2000000 from numbered
      )
      insert into messaging.outbox (logs, kinds, positions, places, leased_until)
      select array[log], array['inbox'], array[position::bigint], array[place], 'infinity' from numbered order by n`
  }
  await sql`
    update messaging.logs l set head = (select max(e.position) from messaging.entries e where e.log = l.id)
    where l.id like 'backlog-%'`
  await sql.unsafe('vacuum analyze messaging.messages, messaging.entries, messaging.logs, messaging.outbox')
  // Make all of these rows due now.
  await sql`update messaging.outbox set leased_until = '-infinity' where leased_until = 'infinity'`
}
