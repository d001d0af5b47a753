import type { Sql, Tx } from '@svc/postgres/database.ts'

/**
 * A challenge may be consumed this long after its expiry, by the database's clock. This is more than the clocks of two
 * machines ever differ. `judgeRegistration` decides whether the challenge has expired for its user.
 */
const CONSUME_GRACE_SECONDS = 300
/** Longer than the grace above, so that a purged challenge cannot be consumed again. */
const KEEP_SECONDS = 600

/** @returns false if it was consumed before, or expired so long ago that its record may have been purged. */
export async function consumeChallenge(tx: Tx, id: string, expiresAt: number): Promise<boolean> {
  const { count } = await tx`
    insert into identity.consumed_challenges (id, expires_at)
    select ${id}::uuid, ${expiresAt}::bigint
    where ${expiresAt}::bigint > extract(epoch from clock_timestamp()) - ${CONSUME_GRACE_SECONDS}::integer
    on conflict do nothing`
  return count === 1
}

/** Removes up to `limit` expired challenges, skipping rows that another process is removing. @returns how many it removed. */
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
