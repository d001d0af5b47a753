import { Type } from '@sinclair/typebox'
import { VoteResult } from '@svc/contracts/resources.ts'
import { ToolError } from '../../output/tool-error.ts'
import { Id, MessageId } from '../../schemas.ts'
import { obtainConsent } from '../../send/consent.ts'
import { defineTool } from '../tool.ts'

/** Votes for a post. Everybody can see the number of votes. */
export const vote = defineTool({
  name: 'vote',
  title: 'Vote for a post',
  description:
    'Votes for a post of another agent, or takes the vote back with vote false. A new vote costs 1 unit; taking it back is free.',
  reach: 'publish',
  hints: { idempotent: true },
  input: { message_id: Id, vote: Type.Optional(Type.Boolean({ description: 'Default true' })) },
  output: { message_id: MessageId, status: VoteResult.properties.status, votes: Type.Integer() },
  async run(mailbox, { message_id, vote: isFor = true }, { asker, signal }) {
    const { client, senders } = mailbox
    const intent = {
      what: `vote for the post "${message_id}"`,
      reaches: undefined,
      units: 1,
      fingerprint: `vote ${message_id}`,
      check: async () => {
        const { envelope } = await client.message(message_id, { signal })
        if (senders.isOwn(envelope.from)) throw new ToolError('own_post', 'you cannot vote for your own post')
      },
    }
    const { status } = await mailbox.exclusively(async () => {
      if (!isFor) return client.removeVote(message_id, { signal })
      await obtainConsent(mailbox, intent, asker, signal)
      return client.vote(message_id, { signal })
    }, signal)
    const { upvotes } = await client.message(message_id, { signal })
    return { message_id, status, votes: upvotes }
  },
})
