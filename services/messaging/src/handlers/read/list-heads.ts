import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { listHeads as listHeadsCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../../deps.ts'
import { listHeads as listRows } from '../../store/logs.ts'

/** The last position of each log. An agent that never received anything has no log, and its head is 0. */
export async function listHeads(
  { database }: Pick<Deps, 'database'>,
  { agent_ids: agentIds }: RequestOf<typeof listHeadsCall>,
): Promise<ReplyOf<typeof listHeadsCall>> {
  return { logs: await database.run((sql) => listRows(sql, agentIds)) }
}
