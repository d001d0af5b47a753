import type { Message } from '@svc/contracts/resources.ts'
import type { People } from '../agent/people.ts'
import type { Workspace } from '../agent/workspace.ts'
import type { Conversation } from './conversations.ts'

/** The newest messages of a conversation whose state is asked for again. Nothing announces an acknowledgement to the sender. */
const MAX_ASKED = 8
const PAGE_SIZE = 100

/** Reads a thread again, because nothing announces what this agent sent to it from elsewhere. */
export async function readThread({ archive, context }: Workspace, root: string): Promise<void> {
  const { client, ended: signal } = context
  for await (const { items } of client.export({ threadId: root, pageSize: PAGE_SIZE, signal }).pages()) {
    archive.addMessages(items)
  }
}

/** Asks which messages of a conversation were acknowledged or accepted meanwhile. */
export async function refreshStates(
  { archive, context, people }: Workspace,
  conversation: Conversation,
): Promise<void> {
  const { client, ended: signal } = context
  const open = conversation.entries.filter(({ message }) => isOpen(message, people))
  const ids = open.slice(-MAX_ASKED).map(({ message }) => message.envelope.id)
  archive.addMessages(await Promise.all(ids.map((id) => client.message(id, { signal }))))
}

/** Runs a task once at a time. A call during a run makes it run once more. */
export function oneAtATime(task: () => Promise<void>): () => Promise<void> {
  let isAsked = false
  let running: Promise<void> | undefined
  const run = async (): Promise<void> => {
    do {
      isAsked = false
      await task()
    } while (isAsked)
  }
  return () => {
    isAsked = true
    running ??= run().finally(() => {
      running = undefined
    })
    return running
  }
}

/** Whether somebody else may have done something with it. Only this agent acknowledges what it received. */
function isOpen({ acked, lane, envelope }: Message, people: People): boolean {
  return lane === 'requests' || (!acked && people.isOwn(envelope.from))
}
