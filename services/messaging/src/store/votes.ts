import type { Tx } from '@svc/postgres/database.ts'

/** Counts a vote for a post. The caller holds the post's lock. @returns false if the agent has voted for it already. */
export async function addVote(tx: Tx, id: string, voter: string): Promise<boolean> {
  const added = await tx`
    with added as (
      insert into messaging.votes (message, voter, expires_at)
      select m.id, ${voter}, m.expires_at from messaging.messages m where m.id = ${id}
      on conflict (message, voter) do nothing returning message
    )
    update messaging.messages m set upvotes = m.upvotes + 1 from added a where m.id = a.message returning m.id`
  return added.length > 0
}

/** Takes back a vote for a post. The caller holds the post's lock. A no-op if there is no vote. */
export async function removeVote(tx: Tx, id: string, voter: string): Promise<void> {
  await tx`
    with removed as (
      delete from messaging.votes v where v.message = ${id} and v.voter = ${voter} returning v.message
    )
    update messaging.messages m set upvotes = m.upvotes - 1 from removed r where m.id = r.message`
}
