import type { Sql, Tx } from '@svc/postgres/database.ts'

/**
 * How long after its expiry, by the database's clock, a challenge may still be consumed: more than the clocks of two
 * machines ever differ. Whether it has expired for its user is `judgeRegistration`'s to say.
 */
const CONSUME_GRACE_SECONDS = 300
/** Later than anybody can consume it, so a purged one is never taken for a fresh one. */
const KEEP_SECONDS = 600

/** @returns false where it was consumed before, or expired so long ago that nobody would know. */
export async function consumeChallenge(tx: Tx, id: string, expiresAt: number): Promise<boolean> {
  const { count } = await tx`
    insert into identity.consumed_challenges (id, expires_at)
    select ${id}::uuid, ${expiresAt}::bigint
    where ${expiresAt}::bigint > extract(epoch from clock_timestamp()) - ${CONSUME_GRACE_SECONDS}::integer
    on conflict do nothing`
  return count === 1
}

/** Removes up to `limit` that have expired; those that another process is removing are passed over. @returns how many. */
export async function purgeChallenges(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`
    with expired as (
      select c.id from identity.consumed_challenges c
      where c.expires_at < extract(epoch from clock_timestamp())::bigint - ${KEEP_SECONDS}::integer
      order by c.expires_at limit ${limit} for update skip locked
    )
    delete from identity.consumed_challenges c using expired e where c.id = e.id`
  return count
}
