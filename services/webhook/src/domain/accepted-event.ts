import { Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { MessageId, UnixSeconds } from '@svc/contracts/ids.ts'
import { EventCursor } from '@svc/contracts/resources.ts'
import { parseAcceptedJson } from '@svc/envelope/i-json.ts'

/** What of an inbox event a job is made of. */
export interface InboxEvent {
  readonly agentId: string
  readonly cursor: number
  readonly messageId: string
  /** Of the message, Unix seconds. */
  readonly expiresAt: number
  /** The text of the envelope as it is stored and read, character for character. */
  readonly envelope: string
  /** Of the request that it comes from, where that is traced. */
  readonly traceparent?: string | undefined
}

const SUBJECT = /^accepted\.([1-9A-HJ-NP-Za-km-z]{32,44})\.inbox$/
const eventCheck = TypeCompiler.Compile(
  Type.Object({
    cursor: EventCursor,
    message: Type.Object({ envelope: Type.Object({ id: MessageId }), expires_at: UnixSeconds }),
  }),
)

/** Whose event it is; '' for what is no subject of an inbox event. */
export function agentOf(subject: string): string {
  return SUBJECT.exec(subject)?.[1] ?? ''
}

/** Levels of brackets: the 64 of an envelope (spec 2.5), and those of the event around it. */
const MAX_LEVELS = 80

/**
 * Reads what the outbox published. Source: libs/contracts, accepted.ts. The envelope is cut out of the text and never
 * serialized again: every reader gets the same bytes. What others wrote is in it, so that it is not left to JSON.parse, whose fault lets one message change how the next one is read.
 * @throws SyntaxError where it is no such event.
 */
export function parseInboxEvent(subject: string, text: string): InboxEvent {
  const agentId = agentOf(subject)
  const event = parseEvent(text)
  if (agentId === '' || !eventCheck.Check(event)) throw new SyntaxError('not an event of an inbox')
  const message = memberText(text, 'message') ?? ''
  return {
    agentId,
    cursor: event.cursor,
    messageId: event.message.envelope.id,
    expiresAt: event.message.expires_at,
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

/** The text of an object's member, as it stands in the object's text. @param json valid JSON of an object. */
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

/** @returns the place behind the closing quote. */
function skipString(json: string, from: number): number {
  let at = from + 1
  while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1
  return at + 1
}

/** @returns the place behind the value. */
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
