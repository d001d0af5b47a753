import type { Message } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import type { Context } from '../context.ts'
import { indented, messageLine, shortened, shortId } from './format.ts'
import { type KnownSenders, readingJson, readingText, readMessage, verdictLine } from './received.ts'
import type { Line } from './style.ts'

export interface ReadingOptions {
  /** Decrypt sealed messages. */
  readonly open?: boolean
  /** Senders whose signatures are checked. */
  readonly verify: string[]
}

/** The reader, and the senders whose signatures it can check. */
export interface Reader {
  readonly client: AgentClient
  readonly senders: KnownSenders
  /** `board:<id>`, for the posts of a board. If absent, messages must be for this agent. */
  readonly board?: string
}

/** Shown instead of the body of a message that was not opened. */
export const SEALED: Line = { text: indented('[sealed: use --open or svc read]'), style: 'faint' }

/** A list shows at most this many characters of a body. svc read shows all. */
const PREVIEW_CHARACTERS = 300

/** Prints a message of a list: one line of facts, the result of the signature check, and the beginning of the body. */
export async function showInList(
  { out }: Context,
  { client, senders, board }: Reader,
  message: Message,
  { open = false, verify }: ReadingOptions,
): Promise<void> {
  const { from } = message.envelope
  const line: Line = { text: messageLine(message, senders.nameOf(from) ?? shortId(from)), style: 'strong' }
  if ('body_enc' in message.envelope && !open) {
    out.print(message, [line, SEALED], message.envelope.id)
    return
  }
  const reading = await readMessage(client, message, { allowUnverified: true, board })
  const document = open || verify.length > 0 ? { ...message, opened: readingJson(reading) } : message
  const preview = 'error' in reading ? [] : out.quote(shortened(readingText(reading), PREVIEW_CHARACTERS))
  const checked = 'error' in reading || open || verify.length > 0 ? [verdictLine(reading)] : []
  out.print(document, [line, ...checked, ...preview], message.envelope.id)
}
