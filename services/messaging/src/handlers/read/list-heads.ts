import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { listHeads as listHeadsCall, listMoved as listMovedCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../../deps.ts'
import { listMoved as listMovedRows, listHeads as listRows } from '../../store/logs.ts'

/** The last position of each log. An agent that never received anything has no log, and its head is 0. */
export async function listHeads(
  { database }: Pick<Deps, 'database'>,
  { agent_ids: agentIds }: RequestOf<typeof listHeadsCall>,
): Promise<ReplyOf<typeof listHeadsCall>> {
  return { logs: await database.run((sql) => listRows(sql, agentIds)) }
}

/** The logs whose head is not the one that the caller expects. */
export async function listMoved(
  { database }: Pick<Deps, 'database'>,
  { agent_ids: agentIds, heads }: RequestOf<typeof listMovedCall>,
): Promise<ReplyOf<typeof listMovedCall>> {
  return { moved: await database.run((sql) => listMovedRows(sql, agentIds, heads)) }
}
