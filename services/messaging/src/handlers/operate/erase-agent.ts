import { recordErasure } from '@svc/audit/audit.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { eraseAgent as eraseAgentCall, listMissing as listMissingCall } from '@svc/contracts/erasure.ts'
import type { Database, Tx } from '@svc/postgres/database.ts'
import { runErasure } from '@svc/postgres/report.ts'
import { eraseMessages, eraseRest, findMissing } from '../../store/operate/erase.ts'

type Call = ReturnType<typeof eraseAgentCall>

interface Deps {
  readonly database: Database
  /** Removes every event from JetStream. Webhook makes missing jobs from the logs. */
  readonly purgeEvents: () => Promise<void>
}

const MESSAGES_PER_CALL = 500

/**
 * Each call deletes a page of the agent's messages. When none is left, a call empties JetStream, whose events contain messages, and
 * then erases everything else.
 */
export async function eraseAgent({ database, purgeEvents }: Deps, request: RequestOf<Call>): Promise<ReplyOf<Call>> {
  const { agent_id: agentId, tombstone } = request
  const messages = await database.transaction((tx) => eraseMessages(tx, agentId, MESSAGES_PER_CALL))
  if (messages > 0) return { done: false, counts: { messages } }
  await purgeEvents()
  const counts = await runErasure(database, async (tx: Tx) =>
    recordErasure(tx, 'messaging', request, await eraseRest(tx, agentId, tombstone)),
  )
  return { done: true, counts }
}

/** Tells webhook which messages are gone. */
export async function listMissing(
  { database }: Pick<Deps, 'database'>,
  { message_ids: ids }: RequestOf<typeof listMissingCall>,
): Promise<ReplyOf<typeof listMissingCall>> {
  return { missing: await database.run((sql) => findMissing(sql, ids)) }
}
