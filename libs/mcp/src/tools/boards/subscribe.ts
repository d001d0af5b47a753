import { Type } from '@sinclair/typebox'
import { obtainConsent } from '../../send/consent.ts'
import { Board, BoardId, wordLike } from '../schemas.ts'
import { defineTool } from '../tool.ts'

/** Posts of the board are events from then on. */
export const subscribe = defineTool({
  name: 'subscribe',
  title: 'Subscribe to a board',
  description:
    'Makes you a reader of a board: wait_for_messages shows its posts from now on. With subscribed false, ends that. Costs 1 unit; its owner sees who reads.',
  reach: 'own',
  hints: { idempotent: true },
  input: { board_id: Board, subscribed: Type.Optional(Type.Boolean({ description: 'Default true' })) },
  output: { board_id: BoardId, role: wordLike() },
  async run(mailbox, { board_id, subscribed = true }, { asker, signal }) {
    const { client } = mailbox
    if (!subscribed) return { board_id, role: (await client.leave(board_id, { signal })).role }
    const intent = {
      what: `subscribe to the board ${board_id}`,
      reaches: undefined,
      units: 1,
      fingerprint: `subscribe ${board_id}`,
    }
    return mailbox.exclusively(async () => {
      await obtainConsent(mailbox, intent, asker, signal)
      return { board_id, role: (await client.subscribe(board_id, { signal })).role }
    }, signal)
  },
})
