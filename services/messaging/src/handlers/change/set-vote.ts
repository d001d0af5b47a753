import { randomUUID } from 'node:crypto'
import { NotCommitted, type Reservation } from '@svc/charging/fences.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { setVote as setVoteCall } from '@svc/contracts/messaging.ts'
import type { Tx } from '@svc/postgres/database.ts'
import type { Deps } from '../../deps.ts'
import { checkVote } from '../../domain/board-access.ts'
import { voteOperation } from '../../domain/operations.ts'
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
  const post = await deps.database.run((sql) => findPost(sql, id, voter))
  if (post === undefined) throw new ServiceError('not_found')
  const access = await deps.boards.judge(post.boardId, voter, context)
  checkVote(access, { hidden: post.hidden, isOwn: post.author === voter })
  if (post.voted !== voted) {
    const ballot = { ...request, boardId: post.boardId, seesHidden: access.may_moderate }
    if (voted) await cast(deps, ballot, context)
    else await deps.database.transaction((tx) => takeBack(tx, ballot), ballot.id)
  }
  return { status: voted ? 'voted' : 'removed', quota_bonus: 0 }
}

interface Ballot extends Request {
  boardId: string
  /** The voter may read the post even if it is hidden. */
  seesHidden: boolean
}

/** Each counted vote is charged once. A retry after a lost answer finds the vote, and is free. */
async function cast(deps: VoteDeps, ballot: Ballot, context: CallContext): Promise<void> {
  const operation = voteOperation(randomUUID())
  const cost = { operation, agentId: ballot.agent_id, units: VOTE_UNITS, introductionPeer: null }
  try {
    await deps.charging.charge(cost, context, (reservation) => commitVote(deps, ballot, reservation))
  } catch (error) {
    // Another request of the voter has cast the vote in the meantime, and has paid for it.
    if (!(error instanceof NotCommitted)) throw error
  }
}

/** @throws NotCommitted if the vote is counted already; ServiceError `not_found` if the post is gone. */
function commitVote({ database, operations }: VoteDeps, ballot: Ballot, reservation: Reservation): Promise<void> {
  return database.transaction(async (tx) => {
    await lock(tx, ballot)
    const isNew = await addVote(tx, ballot.id, ballot.agent_id)
    if (!isNew || (await operations.commit(tx, reservation)) === 'duplicate') throw new NotCommitted()
  }, ballot.id)
}

async function takeBack(tx: Tx, ballot: Ballot): Promise<void> {
  await lock(tx, ballot)
  await removeVote(tx, ballot.id, ballot.agent_id)
}

/** Locks the post. It may have expired or been hidden since the vote was judged. */
async function lock(tx: Tx, { boardId, id, seesHidden }: Ballot): Promise<void> {
  const post = await lockPost(tx, boardId, id)
  if (post === undefined || (post.hidden && !seesHidden)) throw new ServiceError('not_found')
}
