import type { Event, Message } from '@svc/contracts/resources.ts'
import type { Context } from '../context.ts'
import { indented, messageLine, shortened } from './format.ts'
import { senderName } from './names.ts'
import { type Reader, type Reading, readingJson, readingText, verdictLine } from './received.ts'
import type { Line } from './style.ts'

export interface ReadingOptions {
  /** Decrypt sealed messages. */
  readonly open?: boolean
  /** The senders that are expected. */
  readonly verify: string[]
}

/** Shown instead of the body of a message that was not opened. */
const SEALED: Line = { text: indented('[sealed: use --open or svc read]'), style: 'faint' }

/** A list shows at most this many characters of a body. svc read shows all. */
const PREVIEW_CHARACTERS = 300

interface Listed {
  /** What JSON shows: the message, or the event that brought it. */
  readonly document: Message | Event
  readonly message: Message
  /** Before the line of facts. */
  readonly prefix?: string
  readonly read: () => Promise<Reading>
}

/**
 * Prints a message of a list: one line of facts, the result of the signature check, and the beginning of the body. The check
 * of a request has the id of its sender, because a stranger's name alone says little.
 */
export async function showInList(
  { out }: Context,
  { client, signal }: Reader,
  { document, message, prefix = '', read }: Listed,
  { open = false }: ReadingOptions,
): Promise<void> {
  const { envelope, lane } = message
  const head = messageLine(message, await senderName(client, envelope.from, signal))
  const line: Line = { text: `${prefix}${head}`, style: 'strong' }
  if ('body_enc' in envelope && !open) {
    out.print(document, [line, SEALED], envelope.id)
    return
  }
  const reading = await read()
  const preview = 'error' in reading ? [] : out.quote(shortened(readingText(reading), PREVIEW_CHARACTERS))
  const lines = [line, verdictLine(reading, lane === 'requests'), ...preview]
  out.print({ ...document, opened: readingJson(reading) }, lines, envelope.id)
}
