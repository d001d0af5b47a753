import { Type } from '@sinclair/typebox'
import { explainError } from '../../output/explain-error.ts'
import { Id, MessageId, wordLike } from '../../schemas.ts'
import { defineTool } from '../tool.ts'

const MAX_IDS = 50

/** Marks messages as done. Their senders can see it. */
export const acknowledge = defineTool({
  name: 'acknowledge',
  title: 'Acknowledge messages',
  description:
    'Marks received messages as done: they are no longer unread, and their senders can see it. Do this when you are done with a message. Posts cannot be acknowledged.',
  reach: 'own',
  hints: { idempotent: true },
  input: { message_ids: Type.Array(Id, { minItems: 1, maxItems: MAX_IDS }) },
  output: {
    acknowledged: Type.Array(MessageId),
    failed: Type.Array(Type.Object({ message_id: MessageId, error: wordLike() }, { additionalProperties: false })),
  },
  async run({ client, unread }, { message_ids }, { signal }) {
    const acknowledged = []
    const failed = []
    for (const id of message_ids) {
      try {
        await client.ack(id, { signal })
        acknowledged.push(id)
      } catch (error) {
        signal.throwIfAborted()
        failed.push({ message_id: id, error: explainError(error).code })
      }
    }
    unread.forget()
    return { acknowledged, failed }
  },
})
