import type { Message } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import type { Context } from './context.ts'
import { indented, messageLine, shortened, shortId } from './format.ts'
import { type KnownSenders, readingJson, readingText, readMessage, verdict } from './received.ts'

export interface ReadingOptions {
  /** Decrypt what is sealed. */
  readonly open?: boolean
  /** Senders whose signatures are checked. */
  readonly verify: string[]
}

/** Characters of a body that a list shows; svc read shows all. */
const PREVIEW_CHARACTERS = 300

/** Prints one message of many: a line of facts, what is known of its signature, and the beginning of what it says. */
export async function showInList(
  { out }: Context,
  client: AgentClient,
  message: Message,
  senders: KnownSenders,
  { open = false, verify }: ReadingOptions,
): Promise<void> {
  const { from } = message.envelope
  const line = messageLine(message, senders.nameOf(from) ?? shortId(from))
  if ('body_enc' in message.envelope && !open) {
    out.print(message, [line, indented('[sealed: --open, or svc read]')])
    return
  }
  const reading = await readMessage(client, message, true)
  const document = open || verify.length > 0 ? { ...message, opened: readingJson(reading) } : message
  const preview = 'error' in reading ? [] : out.quote(shortened(readingText(reading), PREVIEW_CHARACTERS))
  const checked = 'error' in reading || open || verify.length > 0 ? [indented(`[${verdict(reading)}]`)] : []
  out.print(document, [line, ...checked, ...preview])
}
