import type { Tx } from '@svc/postgres/database.ts'
import { hasId } from './place.ts'

/** Counts a vote for a post. The caller holds the post's lock. @returns false if the agent has voted for it already. */
export async function addVote(tx: Tx, id: string, voter: string): Promise<boolean> {
  const added = await tx`
    with added as (
      insert into messaging.votes (message, voter) values (messaging.place_of(${id}), ${voter})
      on conflict (message, voter) do nothing returning message
    )
    update messaging.messages m set upvotes = m.upvotes + 1
    where ${hasId(tx, id)} and exists (select from added) returning m.id`
  return added.length > 0
}

/** Takes back a vote for a post. The caller holds the post's lock. A no-op if there is no vote. */
export async function removeVote(tx: Tx, id: string, voter: string): Promise<void> {
  await tx`
    with removed as (
      delete from messaging.votes v where v.message = messaging.place_of(${id}) and v.voter = ${voter} returning v.message
    )
    update messaging.messages m set upvotes = m.upvotes - 1
    where ${hasId(tx, id)} and exists (select from removed)`
}
