import { Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { MessageId, UnixSeconds } from '@svc/contracts/ids.ts'
import { EventCursor } from '@svc/contracts/resources.ts'
import { parseAcceptedJson } from '@svc/envelope/i-json.ts'

/** The parts of an inbox event from which a job is made. */
export interface InboxEvent {
  readonly agentId: string
  readonly cursor: number
  readonly messageId: string
  /** Expiry of the message, Unix seconds. */
  readonly expiresAt: number
  /** When the message was accepted, Unix milliseconds. */
  readonly acceptedMs: number
  /** The text of the envelope exactly as it is stored and read. */
  readonly envelope: string
  /** The trace of the request that caused the event, if it is traced. */
  readonly traceparent?: string | undefined
}

const SUBJECT = /^accepted\.([1-9A-HJ-NP-Za-km-z]{32,44})\.inbox$/
const eventCheck = TypeCompiler.Compile(
  Type.Object({
    cursor: EventCursor,
    message: Type.Object({
      envelope: Type.Object({ id: MessageId }),
      created_at: UnixSeconds,
      expires_at: UnixSeconds,
    }),
  }),
)

/** The agent of an inbox event; '' if this is not the subject of an inbox event. */
export function agentOf(subject: string): string {
  return SUBJECT.exec(subject)?.[1] ?? ''
}

/** Maximum nesting of brackets: the 64 levels of an envelope (spec 2.5), and those of the event around it. */
const MAX_LEVELS = 80

/**
 * Parses an event that messaging published (libs/contracts, accepted.ts). Cuts the envelope out of the text and never
 * serializes it again, so that every reader gets the same bytes. The envelope comes from outsiders, so JSON.parse must
 * not parse it: it has a fault that lets one message change how the next is read.
 * @param acceptedMs The time of acceptance, if the publisher sent it. Otherwise only the second is known, and its middle is
 *   used.
 * @throws SyntaxError if the text is not an inbox event.
 */
export function parseInboxEvent(subject: string, text: string, acceptedMs?: number): InboxEvent {
  const agentId = agentOf(subject)
  const event = parseEvent(text)
  if (agentId === '' || !eventCheck.Check(event)) throw new SyntaxError('not an event of an inbox')
  const message = memberText(text, 'message') ?? ''
  return {
    agentId,
    cursor: event.cursor,
    messageId: event.message.envelope.id,
    expiresAt: event.message.expires_at,
    acceptedMs: acceptedMs ?? event.message.created_at * 1_000 + 500,
    envelope: memberText(message, 'envelope') ?? '',
  }
}

function parseEvent(text: string): unknown {
  try {
    return parseAcceptedJson(text, MAX_LEVELS)
  } catch (cause) {
    throw new SyntaxError('not JSON', { cause })
  }
}

/** Returns the text of an object's member, exactly as the object's text has it. @param json Valid JSON of an object. */
export function memberText(json: string, name: string): string | undefined {
  let at = json.indexOf('{') + 1
  for (;;) {
    at = skipSpace(json, at)
    if (json[at] !== '"') return undefined
    const nameEnd = skipString(json, at)
    const found = JSON.parse(json.slice(at, nameEnd)) === name
    const from = skipSpace(json, skipSpace(json, nameEnd) + 1)
    const to = skipValue(json, from)
    if (found) return json.slice(from, to)
    at = skipSpace(json, to) + 1
  }
}

function skipSpace(json: string, from: number): number {
  let at = from
  while (' \t\n\r'.includes(json[at] ?? 'x')) at += 1
  return at
}

/** @returns the index after the closing quote. */
function skipString(json: string, from: number): number {
  let at = from + 1
  while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1
  return at + 1
}

/** @returns the index after the value. */
function skipValue(json: string, from: number): number {
  let at = from
  let depth = 0
  do {
    const character = json[at] ?? ''
    if (character === '"') at = skipString(json, at)
    else if ('{['.includes(character)) {
      depth += 1
      at += 1
    } else if ('}]'.includes(character)) {
      depth -= 1
      at += 1
    } else if (depth > 0) at += 1
    else while (at < json.length && !',}] \t\n\r'.includes(json[at] ?? '')) at += 1
  } while (depth > 0)
  return at
}
