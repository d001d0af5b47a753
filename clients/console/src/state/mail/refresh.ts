import type { Message } from '@svc/contracts/resources.ts'
import type { People } from '../agent/people.ts'
import type { Workspace } from '../agent/workspace.ts'
import type { Conversation } from './conversations.ts'

/** The newest messages of a conversation whose state is asked for again. Nothing announces an acknowledgement to the sender. */
const MAX_ASKED = 8
const PAGE_SIZE = 100

/** Reads what may have changed in a conversation: its thread, acknowledgements, and whether a request was accepted. */
export async function refreshConversation(
  { archive, context, people }: Workspace,
  conversation: Conversation,
): Promise<void> {
  const { client, ended: signal } = context
  if (conversation.root !== undefined) {
    for await (const { items } of client.export({ threadId: conversation.root, pageSize: PAGE_SIZE, signal }).pages()) {
      archive.addMessages(items)
    }
  }
  const open = conversation.entries.filter(({ message }) => isOpen(message, people))
  const ids = open.slice(-MAX_ASKED).map(({ message }) => message.envelope.id)
  archive.addMessages(await Promise.all(ids.map((id) => client.message(id, { signal }))))
}

/** Whether somebody else may have done something with it. Only this agent acknowledges what it received. */
function isOpen({ acked, lane, envelope }: Message, people: People): boolean {
  return lane === 'requests' || (!acked && people.isOwn(envelope.from))
}
