import type { Message } from '@svc/contracts/resources.ts'
import { isCode } from '@svc/sdk/errors.ts'
import type { AgentContext } from '../agent/context.ts'

/** A thread longer than this is cut off, so that it does not fill the page. */
const MAX_THREAD = 500
const PAGE_SIZE = 100

/** The id of the first message of the thread that a message belongs to. */
export function rootOf({ envelope }: Message): string {
  return envelope.thread_id ?? envelope.id
}

/** Both sides of a conversation, oldest first. A root that has expired is left out. */
export async function readThread({ client, ended }: AgentContext, rootId: string): Promise<Message[]> {
  const found = new Map<string, Message>()
  const root = await readRoot()
  if (root !== undefined) found.set(rootId, root)
  for await (const message of client.export({ threadId: rootId, pageSize: PAGE_SIZE, signal: ended })) {
    found.set(message.envelope.id, message)
    if (found.size >= MAX_THREAD) break
  }
  return [...found.values()].sort((a, b) => a.created_at - b.created_at)

  async function readRoot(): Promise<Message | undefined> {
    try {
      return await client.message(rootId, { signal: ended })
    } catch (error) {
      if (isCode(error, 'not_found')) return undefined
      throw error
    }
  }
}
