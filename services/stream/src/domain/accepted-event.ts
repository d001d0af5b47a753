import { TypeCompiler } from '@sinclair/typebox/compiler'
import { AcceptedPost } from '@svc/contracts/accepted.ts'
import type { Heard } from './backlog.ts'

const isAcceptedPost = TypeCompiler.Compile(AcceptedPost)

/** An event received on `accepted.<agent_id>.<kind>`. */
export type AcceptedEvent =
  | { readonly kind: 'event'; readonly heard: Heard }
  /** The event is about to expire. Only a read of history can say whether it still exists. */
  | { readonly kind: 'expiring'; readonly cursor: number }

/** Allows for the clock difference between this machine and the database. */
const CLOCK_MARGIN_SECONDS = 2

/**
 * The text that messaging writes around an envelope (libs/contracts, accepted.ts). The envelope between the two ends is
 * the sender's. It is not parsed, and goes on to the client unchanged (spec 6.6).
 */
const BEFORE_ENVELOPE = /^\{"cursor":([1-9]\d{0,15}),"kind":"(?:inbox|requests)","message":\{"envelope":\{/
const BEHIND_ENVELOPE = /,"expires_at":(\d{1,15}),"acked":(?:true|false),"upvotes":\d{1,15}\}\}$/
/** Upper bound on the text after an envelope. */
const BEHIND_CHARACTERS = 200

/** Parses a message that messaging published. @returns undefined if it does not have the expected form. */
export function parseAccepted(text: string, nowSeconds: number): AcceptedEvent | undefined {
  const [, cursorText] = BEFORE_ENVELOPE.exec(text) ?? []
  if (cursorText === undefined) return parsePost(text)
  const [, expiresAt] = BEHIND_ENVELOPE.exec(text.slice(-BEHIND_CHARACTERS)) ?? []
  if (expiresAt === undefined) return undefined
  const cursor = Number(cursorText)
  return Number(expiresAt) - nowSeconds > CLOCK_MARGIN_SECONDS
    ? { kind: 'event', heard: { cursor, content: text } }
    : { kind: 'expiring', cursor }
}

const CREATED_AT = /,"created_at":(\d{1,15}),"expires_at":\d{1,15},"acked":(?:true|false),"upvotes":\d{1,15}\}\}$/

/** @returns when the message of an Event was accepted, Unix milliseconds, within half a second. */
export function acceptedMsOfText(text: string): number | undefined {
  const [, createdAt] = CREATED_AT.exec(text.slice(-BEHIND_CHARACTERS)) ?? []
  return createdAt === undefined ? undefined : Number(createdAt) * 1_000 + 500
}

/** Unlike an envelope, a reference may be parsed: it holds only ids and numbers of this system. */
function parsePost(text: string): AcceptedEvent | undefined {
  const value = parseJson(text)
  if (!isAcceptedPost.Check(value)) return undefined
  const { cursor, post } = value
  return { kind: 'event', heard: { cursor, content: { id: post.id, boardId: post.board_id } } }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
