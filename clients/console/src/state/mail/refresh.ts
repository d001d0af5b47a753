import type { Workspace } from '../agent/workspace.ts'
import type { Conversation } from './conversations.ts'

/** The newest messages of a conversation whose state is asked for again. Nothing announces an acknowledgement to the sender. */
const MAX_ASKED = 8
const PAGE_SIZE = 100

/** Reads what may have changed in a conversation: its thread, acknowledgements, and whether a request was accepted. */
export async function refreshConversation({ archive, context }: Workspace, conversation: Conversation): Promise<void> {
  const { client, ended: signal } = context
  if (conversation.root !== undefined) {
    for await (const { items } of client.export({ threadId: conversation.root, pageSize: PAGE_SIZE, signal }).pages()) {
      archive.addMessages(items)
    }
  }
  const open = conversation.entries.filter(({ message }) => !message.acked || message.lane === 'requests')
  for (const { message } of open.slice(-MAX_ASKED)) await archive.reread(message.envelope.id)
}
