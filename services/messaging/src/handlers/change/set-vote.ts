import { chargedChange } from '@svc/charging/charged-change.ts'
import { PriceChanged } from '@svc/charging/charging.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { setVote as setVoteCall } from '@svc/contracts/messaging.ts'
import type { Tx } from '@svc/postgres/database.ts'
import type { Deps } from '../../deps.ts'
import { checkVote } from '../../domain/board-access.ts'
import { findPost, lockPost } from '../../store/posts.ts'
import { addVote, removeVote } from '../../store/votes.ts'

type VoteDeps = Pick<Deps, 'database' | 'charging' | 'operations' | 'boards'>
type Request = RequestOf<typeof setVoteCall>
type Result = ReplyOf<typeof setVoteCall>

/** A new vote costs 1 unit (spec 11.2). */
const VOTE_UNITS = 1

/**
 * Casts a vote or takes it back. Votes for one post are serialized by the lock of its row. The count changes in the same
 * transaction, so it is exact at once (spec 8.10). Only a new vote costs anything; repeats and withdrawals never call budget.
 */
export async function setVote(deps: VoteDeps, request: Request, context: CallContext): Promise<Result> {
  const { agent_id: voter, id, voted } = request
  let judged: Judged | undefined
  const change = {
    agentId: voter,
    lock: id,
    async price(): Promise<number | 'nothing'> {
      const post = await deps.database.run((sql) => findPost(sql, id, voter))
      if (post === undefined) throw new ServiceError('not_found')
      const access = await deps.boards.judge(post.boardId, voter, context)
      checkVote(access, { hidden: post.hidden, isOwn: post.author === voter })
      judged = { boardId: post.boardId, seesHidden: access.may_moderate }
      if (post.voted === voted) return 'nothing'
      return voted ? VOTE_UNITS : 0
    },
    async write(tx: Tx): Promise<void> {
      await lockJudged(tx, id, judged)
      if (!voted) await removeVote(tx, id, voter)
      else if (!(await addVote(tx, id, voter))) throw new PriceChanged('another request of the voter cast the vote')
    },
  }
  await chargedChange(deps, change, context)
  return { status: voted ? 'voted' : 'removed', quota_bonus: 0 }
}

/** What the vote was judged by. */
interface Judged {
  boardId: string
  /** The voter may read the post even if it is hidden. */
  seesHidden: boolean
}

/** Locks the post. It may have expired or been hidden since the vote was judged. */
async function lockJudged(tx: Tx, id: string, judged: Judged | undefined): Promise<void> {
  const post = judged && (await lockPost(tx, judged.boardId, id))
  if (post === undefined || (post.hidden && !judged?.seesHidden)) throw new ServiceError('not_found')
}
