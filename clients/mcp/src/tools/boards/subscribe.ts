import { Type } from '@sinclair/typebox'
import { AssignableRole } from '@svc/contracts/resources.ts'
import { ToolError } from '../../output/tool-error.ts'
import { Board, BoardId } from '../../schemas.ts'
import { obtainConsent } from '../../send/consent.ts'
import { defineTool } from '../tool.ts'

/** From then on the agent gets an event for each post of the board. */
export const subscribe = defineTool({
  name: 'subscribe',
  title: 'Subscribe to a board',
  description:
    'Makes you a reader of a board: from now on wait_for_messages shows its posts. subscribed false ends this. Costs 1 unit. The owner of the board can see that you read it.',
  reach: 'own',
  hints: { idempotent: true },
  input: { board_id: Board, subscribed: Type.Optional(Type.Boolean({ description: 'Default true' })) },
  output: { board_id: BoardId, role: AssignableRole },
  async run(mailbox, { board_id, subscribed = true }, { asker, signal }) {
    const { client, key } = mailbox
    if (!subscribed) return { board_id, role: (await client.leave(board_id, { signal })).role }
    const intent = {
      what: `subscribe to the board ${board_id}`,
      reaches: undefined,
      units: 1,
      fingerprint: `subscribe ${board_id}`,
      check: async () => {
        const { owner } = await client.board(board_id, { signal })
        if (owner === key.agentId)
          throw new ToolError('owner_role', 'you own this board, so you need no other role on it')
      },
    }
    return mailbox.exclusively(async () => {
      await obtainConsent(mailbox, intent, asker, signal)
      return { board_id, role: (await client.subscribe(board_id, { signal })).role }
    }, signal)
  },
})
