import { type Batcher, createBatcher } from '@svc/batching/batcher.ts'
import type { Database, Sql, Tx } from '@svc/postgres/database.ts'
import { retryOnConflict } from '@svc/postgres/errors.ts'
import type { InboxEvent } from '../domain/accepted-event.ts'
import { type Claim, type Occupant, SLOTS_PER_ENDPOINT } from '../domain/occupancy.ts'
import { type Backoff, secondsToNext } from '../domain/schedule.ts'

/** A job that this process holds. */
export interface ClaimedJob extends Occupant {
  readonly agentId: string
  readonly configuration: string
  readonly messageId: string
  /** Identifies the claim. */
  readonly lease: string
  readonly url: string
  readonly keyId: string
  readonly sealed: Buffer
  readonly body: string
  /** Expiry of the message, Unix seconds. */
  readonly expiresAt: number
  /** When the message was accepted, Unix milliseconds. */
  readonly acceptedMs: number
  /** Number of attempts that have ended. */
  readonly attempts: number
  /** The trace of the request that caused the job, if it is traced. */
  readonly traceparent?: string | undefined
}

/**
 * How an attempt ended. `delivered` and `failed` end the job. `postponed` does not count as an attempt. `error` says why, in words for
 * the operator.
 */
export type Outcome =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'failed'; readonly error: string | null }
  | { readonly kind: 'retry' | 'postponed'; readonly afterSeconds: number; readonly error: string }

export interface Ended {
  readonly job: ClaimedJob
  readonly outcome: Outcome
  /** Whether the attempt was slow, however it ended. */
  readonly slow: boolean
}

/** Makes jobs of events. Concurrent events share a transaction. Calls `made` if there were any jobs to make. */
export function createIngest(database: Database, backoff: Backoff, made: () => void): Batcher<InboxEvent, void> {
  return createBatcher<InboxEvent, void>({
    name: 'webhook.ingest',
    // A body has at most 96 KiB.
    maxItems: 64,
    run: async (events) => {
      const traced = events.filter(({ traceparent }) => traceparent !== undefined)
      const make = async (sql: Sql | Tx): Promise<number> => {
        const jobs = await makeJobs(sql, events, backoff)
        if (traced.length > 0) await noteTraces(sql, traced)
        return jobs
      }
      const jobs = await (traced.length > 0 ? database.transaction(make) : retryOnConflict(() => database.run(make)))
      if (jobs > 0) made()
      return events.map(() => undefined)
    },
  })
}

/** Makes jobs of those events that need one. @returns how many it made. */
export async function makeJobs(sql: Sql | Tx, events: readonly InboxEvent[], backoff: Backoff): Promise<number> {
  const delays = events.map(() => secondsToNext(backoff, 0, Math.random()) ?? 0)
  const [row] = await sql<{ jobs: number }[]>`
    select webhook.make_jobs(
      agents => ${events.map((event) => event.agentId)}::text[],
      cursors => ${events.map((event) => event.cursor)}::bigint[],
      messages => ${events.map((event) => event.messageId)}::text[],
      bodies => ${events.map((event) => event.envelope)}::text[],
      expiries => ${events.map((event) => event.expiresAt)}::bigint[],
      delays => ${delays}::double precision[],
      accepted_ms => ${events.map((event) => event.acceptedMs)}::bigint[]
    ) as jobs`
  return row?.jobs ?? 0
}

async function noteTraces(sql: Sql | Tx, events: readonly InboxEvent[]): Promise<void> {
  await sql`
    update webhook.jobs j set traceparent = u.traceparent
    from unnest(
      ${events.map((event) => event.agentId)}::text[], ${events.map((event) => event.messageId)}::text[],
      ${events.map((event) => event.traceparent ?? null)}::text[]
    ) as u (agent_id, message_id, traceparent)
    join webhook.endpoints e on e.agent_id = u.agent_id
    where j.configuration = e.configuration and j.message_id = u.message_id and j.traceparent is null`
}

/** Reads the traces that these jobs continue. Called only if tracing is on. @returns one for each job. */
export async function findTraces(sql: Sql, jobs: readonly ClaimedJob[]): Promise<(string | null)[]> {
  const rows = await sql<{ traceparent: string | null }[]>`
    select j.traceparent
    from unnest(
      ${jobs.map((job) => job.configuration)}::uuid[], ${jobs.map((job) => job.messageId)}::text[]
    ) with ordinality as u (configuration, message_id, ord)
    left join webhook.jobs j on j.configuration = u.configuration and j.message_id = u.message_id
    order by u.ord`
  return rows.map(({ traceparent }) => traceparent)
}

/** Leases due jobs to this process, fairly within a host, and at most as many per endpoint as it has free slots. */
export async function claimJobs(sql: Sql, claim: Claim, leaseSeconds: number): Promise<ClaimedJob[]> {
  return sql<ClaimedJob[]>`
    select c.agent_id as "agentId", c.configuration, c.message_id as "messageId", c.lease, c.url, c.host,
      c.key_id as "keyId", c.sealed, c.body, c.expires_at as "expiresAt", c.accepted_ms as "acceptedMs",
      c.attempts, c.standing
    from webhook.claim_fairly(
      steady_jobs => ${claim.steadyJobs}::bigint,
      struggling_jobs => ${claim.strugglingJobs}::bigint,
      slots => ${SLOTS_PER_ENDPOINT}::bigint,
      lease_seconds => ${leaseSeconds}::double precision,
      host_jobs => ${claim.hostJobs}::bigint,
      busy_standings => ${claim.busy.map(({ standing }) => standing)}::text[],
      busy_hosts => ${claim.busy.map(({ host }) => host)}::text[],
      busy_jobs => ${claim.busy.map(({ jobs }) => jobs)}::bigint[]
    ) c`
}

/**
 * The last check before a connection: true if the job is still this process's and of the current configuration. Renews
 * its lease, so that it covers the attempt.
 */
export function createBegin(database: Database, leaseSeconds: number): Batcher<ClaimedJob, boolean> {
  return createBatcher<ClaimedJob, boolean>({
    name: 'webhook.begin',
    concurrency: 2,
    run: async (jobs) => {
      const rows = await retryOnConflict(() =>
        database.run(
          (sql) => sql<{ lease: string }[]>`
            select b.lease from webhook.begin_attempts(
              ${jobs.map((job) => job.configuration)}::uuid[], ${jobs.map((job) => job.messageId)}::text[],
              ${jobs.map((job) => job.lease)}::uuid[], ${leaseSeconds}
            ) b`,
        ),
      )
      const held = new Set(rows.map(({ lease }) => lease))
      return jobs.map(({ lease }) => held.has(lease))
    },
  })
}

/** Records how attempts ended. Ignores jobs that another worker holds by now or whose configuration is gone. */
export function createEndAttempts(database: Database): Batcher<Ended, void> {
  return createBatcher<Ended, void>({
    name: 'webhook.end-attempts',
    run: async (ended) => {
      const delays = ended.map(({ outcome }) => ('afterSeconds' in outcome ? outcome.afterSeconds : 0))
      await retryOnConflict(() =>
        database.run(
          (sql) => sql`
            select webhook.end_attempts(
              agents => ${ended.map(({ job }) => job.agentId)}::text[],
              configurations => ${ended.map(({ job }) => job.configuration)}::uuid[],
              messages => ${ended.map(({ job }) => job.messageId)}::text[],
              leases => ${ended.map(({ job }) => job.lease)}::uuid[],
              outcomes => ${ended.map(({ outcome }) => outcome.kind)}::text[],
              delays => ${delays}::double precision[],
              slow => ${ended.map(({ slow }) => Number(slow))}::integer[]::boolean[],
              errors => ${ended.map(({ outcome }) => ('error' in outcome ? outcome.error : null))}::text[]
            )`,
        ),
      )
      return ended.map(() => undefined)
    },
  })
}

/** Removes at most `limit` jobs of one replaced or deleted configuration. @returns whether more may be left. */
export async function removeRetired(sql: Sql, limit: number): Promise<boolean> {
  const [row] = await sql<{ found: boolean }[]>`
    with one as materialized (
      select r.configuration from webhook.retired r limit 1 for update skip locked
    ), void as materialized (
      select j.configuration, j.message_id from one o
      join webhook.jobs j on j.configuration = o.configuration limit ${limit} for update of j skip locked
    ), removed as (
      delete from webhook.jobs j using void v
      where j.configuration = v.configuration and j.message_id = v.message_id
    ), done as (
      delete from webhook.retired r using one o
      where r.configuration = o.configuration and not exists (
        select from webhook.jobs j where j.configuration = o.configuration
      )
    )
    select exists (select from one) as found`
  return row?.found ?? false
}

/**
 * Forgets jobs that ended so long ago that their event will not come again. Keeps jobs that ended after the last
 * complete round of reconciliation began, because a later round could make them again. @returns how many it removed.
 */
export async function purgeJobs(sql: Sql, keepSeconds: number, limit: number): Promise<number> {
  const { count } = await sql`
    with old as materialized (
      select j.configuration, j.message_id from webhook.jobs j
      where j.ended_at < least(
        statement_timestamp() - make_interval(secs => ${keepSeconds}),
        (select r.covered_to from webhook.reconciliation r)
      )
      order by j.ended_at limit ${limit} for update skip locked
    )
    delete from webhook.jobs j using old o where j.configuration = o.configuration and j.message_id = o.message_id`
  return count
}
