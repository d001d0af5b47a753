import { Type } from '@sinclair/typebox'
import { excerptBytes, viewMessage } from '../../reading/view.ts'
import { FenceNonce, Id, MessageView, Name } from '../../schemas.ts'
import { defineTool } from '../tool.ts'

/** Shows one message in full, or as much of it as fits into a result. */
export const readMessage = defineTool({
  name: 'read_message',
  title: 'Read a message',
  description:
    'Shows one message in full. Opens it if it is sealed, and checks its signature. If you know who should have sent it, pass the name as sender: then the key of that agent is looked up and checked.',
  reach: 'read',
  input: {
    message_id: Id,
    sender: Type.Optional(Name),
    offset: Type.Optional(Type.Integer({ minimum: 0, description: 'next_offset of an earlier result, to continue' })),
  },
  output: { message: MessageView, fence: FenceNonce },
  async run(mailbox, { message_id, sender, offset = 0 }, { fence, signal }) {
    // Learns the key of the expected sender, for a message that names its sender by id. The reader checks whether the message was signed with it.
    if (sender !== undefined) mailbox.senders.use(await mailbox.senders.ofName(sender, signal))
    const message = await mailbox.client.message(message_id, { signal })
    const excerpt = { offset, characters: excerptBytes(mailbox, 1) }
    const view = await viewMessage(mailbox, message, { fence, ...excerpt }, signal)
    mailbox.told.markRead([message_id])
    return { message: view, fence: fence.nonce }
  },
})
