import { Type } from '@sinclair/typebox'
import { viewMessage } from '../../reading/view.ts'
import { FenceNonce, Id, MessageView, Name } from '../schemas.ts'
import { defineTool } from '../tool.ts'

/** One message in full, or as much of it as a result takes. */
export const readMessage = defineTool({
  name: 'read_message',
  title: 'Read a message',
  description:
    'Shows one message in full: opened where it is sealed, with its signature checked. If you know who it should be from, give sender: its key is then looked up and checked.',
  reach: 'read',
  input: {
    message_id: Id,
    sender: Type.Optional(Name),
    offset: Type.Optional(Type.Integer({ minimum: 0, description: 'next_offset of an earlier result, to go on' })),
  },
  output: { message: MessageView, fence: FenceNonce },
  async run(mailbox, { message_id, sender, offset = 0 }, { fence, signal }) {
    // Makes the key known; whether it is that of the sender is for the reader to find.
    if (sender !== undefined) await mailbox.senders.ofName(sender, signal)
    const message = await mailbox.client.message(message_id, { signal })
    const excerpt = { offset, characters: mailbox.resultCharacters }
    return { message: await viewMessage(mailbox, message, fence, excerpt, signal), fence: fence.nonce }
  },
})
