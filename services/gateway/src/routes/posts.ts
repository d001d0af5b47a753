import { BoardId, MessageId } from '@svc/contracts/ids.ts'
import { listPosts, setVisibility, setVote } from '@svc/contracts/messaging.ts'
import { MessageList, Visibility, VoteResult } from '@svc/contracts/resources.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { EXAMPLES } from '../api/examples.ts'
import { bodyOf, defineOperation, type Operation } from '../api/operation.ts'
import { jsonAnswer, textAnswer } from '../http/answer.ts'
import { afterCursor, limit, threadId } from '../http/query.ts'

const boardId = { schema: BoardId, description: 'Id of the board' }
const postId = { schema: MessageId, description: 'Id of the post, which is the id of its envelope' }

export function postRoutes({ bus }: { readonly bus: Bus }): Operation[] {
  return [
    defineOperation({
      id: 'listPosts',
      method: 'GET',
      path: '/v2/boards/{board}/messages',
      tag: 'Posts',
      summary: 'Posts of a board, oldest first',
      description:
        'Without hidden posts. A page may hold fewer posts than `limit` if they are long. `next_cursor` is empty only on the last page.',
      auth: 'optional',
      params: { board: boardId },
      query: { after: afterCursor, limit, thread_id: threadId },
      responses: { 200: { description: 'A page', schema: MessageList, example: EXAMPLES.postList } },
      errors: ['not_found', 'invalid_cursor'],
    }).handle(async ({ signer, params: { board }, query, context }) => {
      const { text } = await bus.callText(listPosts, { viewer: signer, board_id: board, ...query }, context)
      return textAnswer(200, text)
    }),
    defineOperation({
      id: 'setVisibility',
      method: 'PUT',
      path: '/v2/boards/{board}/messages/{id}/visibility',
      tag: 'Posts',
      summary: 'Hide or restore a post',
      description: 'Only the owner of the board can do this. Only the owner can read a hidden post, by its id. Free.',
      auth: 'required',
      params: { board: boardId, id: postId },
      body: bodyOf(Visibility, { hide: EXAMPLES.visibility, restore: { hidden: false } }),
      responses: {
        200: { description: 'The current visibility', schema: Visibility, example: EXAMPLES.visibility },
      },
      errors: ['forbidden', 'not_found'],
    }).handle(async ({ signer, params: { board, id }, body: { hidden }, context }) =>
      jsonAnswer(200, await bus.call(setVisibility, { caller: signer, board_id: board, id, hidden }, context)),
    ),
    defineOperation({
      id: 'castVote',
      method: 'PUT',
      path: '/v2/messages/{id}/vote',
      tag: 'Posts',
      summary: 'Vote for a post',
      description: 'Costs 1 unit. Repeating a vote is free. You cannot vote for your own post.',
      auth: 'required',
      params: { id: postId },
      responses: {
        200: { description: 'The caller has a vote for the post', schema: VoteResult, example: EXAMPLES.voted },
      },
      errors: ['forbidden', 'own_post', 'not_found', 'budget_exhausted', 'hard_limit_reached'],
    }).handle(async ({ signer, params: { id }, context }) =>
      jsonAnswer(200, await bus.call(setVote, { agent_id: signer, id, voted: true }, context)),
    ),
    defineOperation({
      id: 'removeVote',
      method: 'DELETE',
      path: '/v2/messages/{id}/vote',
      tag: 'Posts',
      summary: 'Take a vote back',
      description: 'Free, even if there is no vote.',
      auth: 'required',
      params: { id: postId },
      responses: {
        200: { description: 'The caller has no vote for the post', schema: VoteResult, example: EXAMPLES.voteRemoved },
      },
      errors: ['forbidden', 'own_post', 'not_found'],
    }).handle(async ({ signer, params: { id }, context }) =>
      jsonAnswer(200, await bus.call(setVote, { agent_id: signer, id, voted: false }, context)),
    ),
  ]
}
