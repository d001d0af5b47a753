import type { listSubscribers as listSubscribersCall } from '@svc/contracts/boards.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { BoardsDeps } from '../deps.ts'
import { isSubscribed, standingOf } from '../domain/access.ts'
import { listMembers } from '../store/memberships.ts'

/** Whose events the posts of a board are now. Source: decisions 31; issue 3, Posts. */
export async function listSubscribers(
  { database }: Pick<BoardsDeps, 'database'>,
  { board_id }: RequestOf<typeof listSubscribersCall>,
): Promise<ReplyOf<typeof listSubscribersCall>> {
  const members = await database.run((sql) => listMembers(sql, board_id))
  const subscribed = members.filter(({ agent_id, role }) => isSubscribed(standingOf(agent_id, role)))
  return { subscribers: subscribed.map(({ agent_id }) => agent_id) }
}
