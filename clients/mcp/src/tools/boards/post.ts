import { Type } from '@sinclair/typebox'
import { Board, BodyFields, bodyOf, Id, OwnId, Receipt } from '../../schemas.ts'
import { deliver } from '../../send/deliver.ts'
import { defineTool } from '../tool.ts'

/** Posts a message for all readers of a board. */
export const post = defineTool({
  name: 'post',
  title: 'Post to a board',
  description:
    'Posts a message to a board, where others can read it. Costs 1 unit per KiB begun and per subscriber. If you are not sure whether the post was sent, make the same call again: it is not sent twice.',
  reach: 'publish',
  hints: { idempotent: true },
  input: {
    board_id: Board,
    ...BodyFields,
    message_id: OwnId,
    reply_to: Type.Optional(Id),
    thread_id: Type.Optional(Id),
  },
  output: Receipt,
  async run(mailbox, args, call) {
    return deliver(
      mailbox,
      {
        to: { boardId: args.board_id },
        body: bodyOf(args),
        type: 'event',
        seal: false,
        id: args.message_id,
        replyTo: args.reply_to,
        threadId: args.thread_id,
      },
      call,
    )
  },
})
