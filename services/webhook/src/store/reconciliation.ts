/** Stores how far the jobs are known to cover the logs. */
import type { Database, Sql, Tx } from '@svc/postgres/database.ts'
import { retryOnConflict } from '@svc/postgres/errors.ts'
import type { InboxEvent } from '../domain/accepted-event.ts'
import type { Backoff } from '../domain/schedule.ts'
import { makeJobs } from './jobs.ts'

/** A page of a round, leased to this process. */
interface Page {
  readonly lease: string
  /** The page starts after this agent. */
  readonly place: string
}

/** @returns the page that is due; undefined if none is due or another process holds it. */
export async function beginPage(sql: Sql, leaseSeconds: number): Promise<Page | undefined> {
  const [page] = await sql<Page[]>`
    update webhook.reconciliation r
    set lease = gen_random_uuid(), due_at = clock_timestamp() + make_interval(secs => ${leaseSeconds}),
      begun_at = case when r.place = '' then clock_timestamp() else r.begun_at end,
      complete = r.place = '' or r.complete
    where r.due_at <= clock_timestamp()
    returning r.lease, r.place`
  return page
}

/** The result of a page. */
interface PageEnd {
  /** The last agent that was compared; '' at the end of the round. */
  readonly place: string
  /** Whether all endpoints of the page have caught up with their logs. */
  readonly complete: boolean
  /** Time from the start of this round to the start of the next one, if this one was complete. */
  readonly intervalSeconds: number
}

/** Records the result of a page, unless another process has taken the page meanwhile. */
export async function endPage(sql: Sql, { lease }: Page, { place, complete, intervalSeconds }: PageEnd): Promise<void> {
  await sql`
    update webhook.reconciliation r
    set lease = null, place = ${place}, complete = r.complete and ${complete},
      covered_to = case when ${place} = '' and r.complete and ${complete} then r.begun_at else r.covered_to end,
      due_at = case when ${place} = '' and r.complete and ${complete}
        then greatest(clock_timestamp(), r.begun_at + make_interval(secs => ${intervalSeconds}::float8))
        else clock_timestamp() end
    where r.lease = ${lease}`
}

/** Seconds since the start of the last complete round. */
export async function coveredSeconds(sql: Sql): Promise<number> {
  const [row] = await sql<{ seconds: number }[]>`
    select greatest(0, extract(epoch from clock_timestamp() - r.covered_to))::float8 as seconds
    from webhook.reconciliation r`
  return row?.seconds ?? 0
}

/** Agents with a webhook, in order, and in the same order the cursor up to which the log of each is covered. */
interface Positions {
  readonly agentIds: readonly string[]
  readonly cursors: readonly number[]
}

/**
 * Lists agents with a webhook after an agent. They come as two texts, because the driver needs more time for thousands of rows
 * than the database does.
 */
export async function listPositions(sql: Sql, after: string, limit: number): Promise<Positions> {
  const [row] = await sql<{ agents: string | null; cursors: string | null }[]>`
    select string_agg(p.agent_id, ' ' order by p.agent_id) as agents,
      string_agg(p.position::text, ' ' order by p.agent_id) as cursors
    from (
      select e.agent_id, greatest(e.after_cursor, e.reconciled) as position from webhook.endpoints e
      where e.configuration is not null and e.agent_id > ${after} order by e.agent_id limit ${limit}
    ) p`
  return { agentIds: row?.agents?.split(' ') ?? [], cursors: row?.cursors?.split(' ').map(Number) ?? [] }
}

/** Finds the present configurations of agents. Leaves out agents whose webhook was deleted. */
export async function findConfigurations(sql: Sql, agentIds: readonly string[]): Promise<Map<string, string>> {
  if (agentIds.length === 0) return new Map()
  const rows = await sql<{ agentId: string; configuration: string }[]>`
    select e.agent_id as "agentId", e.configuration from webhook.endpoints e
    where e.agent_id = any (${[...agentIds]}::text[]) and e.configuration is not null`
  return new Map(rows.map(({ agentId, configuration }) => [agentId, configuration]))
}

/** How far the log of an agent with a webhook is covered. */
export interface Position {
  readonly agentId: string
  readonly configuration: string
  /** A cursor of the agent's log. */
  readonly position: number
}

export interface JobKey {
  readonly configuration: string
  readonly messageId: string
}

/** Returns the keys that have no job. */
export async function findMissing<Key extends JobKey>(sql: Sql, keys: readonly Key[]): Promise<Key[]> {
  if (keys.length === 0) return []
  const rows = await sql<{ ordinal: number }[]>`
    select u.ordinal
    from unnest(
      ${keys.map(({ configuration }) => configuration)}::uuid[], ${keys.map(({ messageId }) => messageId)}::text[]
    ) with ordinality u (configuration, message_id, ordinal)
    where not exists (
      select from webhook.jobs j where j.configuration = u.configuration and j.message_id = u.message_id
    )
    order by u.ordinal`
  return rows.flatMap(({ ordinal }) => keys[ordinal - 1] ?? [])
}

/** A position to raise. */
export interface Advance extends Position {
  readonly to: number
}

/**
 * Raises positions and makes the missing jobs below them, in one transaction. Does neither for an endpoint whose
 * configuration or position has changed meanwhile.
 * @returns the agents whose positions were raised, and how many jobs were made.
 */
export async function advance(
  database: Database,
  advances: readonly Advance[],
  events: readonly InboxEvent[],
  backoff: Backoff,
): Promise<{ agentIds: Set<string>; jobs: number }> {
  const raise = (sql: Sql | Tx): Promise<{ agent_id: string }[]> =>
    sql<{ agent_id: string }[]>`
      select a.agent_id from webhook.advance(
        ${advances.map(({ agentId }) => agentId)}::text[], ${advances.map(({ configuration }) => configuration)}::uuid[],
        ${advances.map(({ position }) => position)}::bigint[], ${advances.map(({ to }) => to)}::bigint[]
      ) a`
  if (events.length === 0) {
    const rows = await retryOnConflict(() => database.run((sql) => raise(sql)))
    return { agentIds: new Set(rows.map(({ agent_id }) => agent_id)), jobs: 0 }
  }
  return database.transaction(async (tx) => {
    const rows = await raise(tx)
    const agentIds = new Set(rows.map(({ agent_id }) => agent_id))
    return {
      agentIds,
      jobs: await makeJobs(
        tx,
        events.filter(({ agentId }) => agentIds.has(agentId)),
        backoff,
      ),
    }
  })
}
