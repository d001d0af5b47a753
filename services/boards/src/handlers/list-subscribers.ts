import type { listSubscribers as listSubscribersCall } from '@svc/contracts/boards.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { BoardsDeps } from '../deps.ts'
import { isSubscribed, judge, standingOf } from '../domain/access.ts'
import { listMembers } from '../store/memberships.ts'

/** Says who may read a board now: everybody, or only its subscribers if it is private (spec 8.2). */
export async function listSubscribers(
  { database }: Pick<BoardsDeps, 'database'>,
  { board_id }: RequestOf<typeof listSubscribersCall>,
): Promise<ReplyOf<typeof listSubscribersCall>> {
  const members = await database.run((sql) => listMembers(sql, board_id))
  const [board] = members
  const subscribed = members.filter(({ agent_id, role }) => isSubscribed(standingOf(agent_id, role)))
  return {
    open: board !== undefined && judge(board, 'anonymous').open,
    subscribers: subscribed.map(({ agent_id }) => agent_id),
  }
}
