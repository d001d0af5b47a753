import type { noteBlock as noteBlockCall } from '@svc/contracts/boards.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { BoardsDeps } from '../deps.ts'
import { saveBlock } from '../store/blocks.ts'
import { lockBoardsOf } from '../store/boards.ts'

/**
 * Notes that an agent has blocked the owner, under the locks of all boards of the owner. So an addition under way is committed
 * before the answer, or finds the note.
 */
export async function noteBlock(
  { database }: Pick<BoardsDeps, 'database'>,
  { agent_id: agentId, owner, version }: RequestOf<typeof noteBlockCall>,
): Promise<ReplyOf<typeof noteBlockCall>> {
  await database.transaction(async (tx) => {
    // An owner without boards adds nobody. If it creates a board later, it is judged after this block.
    if ((await lockBoardsOf(tx, owner)) > 0) await saveBlock(tx, agentId, owner, version)
  }, owner)
  return {}
}
