import type { Database } from '@svc/postgres/database.ts'
import type { Challenge } from '../domain/challenge.ts'
import type { Standing } from '../domain/registration.ts'
import { insertAgent } from './agents.ts'
import { consumeChallenge } from './consumed-challenges.ts'

/**
 * Reads the state of name, key and challenge in one query. A `challengeId` of undefined counts as not consumed. The name of an
 * erased agent counts as taken by another key, and its key as registered under another name.
 */
export async function findStanding(
  database: Database,
  agentId: string,
  name: string,
  challengeId: string | undefined,
): Promise<Standing> {
  const [row] = await database.run(
    (sql) => sql<{ name_owner: string | null; own_name: string | null; consumed: boolean }[]>`
      select
        coalesce(
          (select a.agent_id from identity.agents a where a.name = ${name}),
          (select e.key from identity.erased e where e.key = identity.tombstone_of('name:' || ${name}))
        ) as name_owner,
        coalesce(
          (select a.name from identity.agents a where a.agent_id = ${agentId}),
          (select '' from identity.erased e where e.key = identity.tombstone_of('agent:' || ${agentId}))
        ) as own_name,
        exists (select from identity.consumed_challenges c where c.id = ${challengeId ?? null}::uuid) as consumed`,
  )
  return {
    nameOwner: row?.name_owner ?? undefined,
    ownName: row?.own_name ?? undefined,
    challengeConsumed: row?.consumed ?? false,
  }
}

/**
 * Consumes the challenge and inserts the agent in one transaction, or does neither. Concurrent transactions for the
 * same challenge, name or key wait for each other at the first unique index that they share. All touch the indexes in
 * the same order, so they cannot deadlock. When one rolls back, the next one continues.
 * @returns false if the challenge, the name or the key is taken; nothing has changed then.
 */
export async function register(
  database: Database,
  {
    agentId,
    name,
    publicKey,
    challenge,
  }: { agentId: string; name: string; publicKey: Uint8Array; challenge: Challenge },
): Promise<boolean> {
  try {
    await database.transaction(async (tx) => {
      const won =
        (await consumeChallenge(tx, challenge.id, challenge.expiresAt)) &&
        (await insertAgent(tx, agentId, name, publicKey))
      if (!won) throw TAKEN
    })
    return true
  } catch (error) {
    if (error === TAKEN) return false
    throw error
  }
}

/** Thrown inside the transaction to roll it back. */
const TAKEN = new Error('the challenge, the name or the key is taken')
