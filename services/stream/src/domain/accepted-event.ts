import { TypeCompiler } from '@sinclair/typebox/compiler'
import { AcceptedPost } from '@svc/contracts/accepted.ts'
import type { Heard } from './backlog.ts'

const isAcceptedPost = TypeCompiler.Compile(AcceptedPost)

/** What came on `accepted.<agent_id>.<kind>`. */
export type AcceptedEvent =
  | { readonly kind: 'event'; readonly heard: Heard }
  /** It is about to expire: only history says whether it still is there. */
  | { readonly kind: 'expiring'; readonly cursor: number }

/** Of the clocks of this machine and of the database together. */
const CLOCK_MARGIN_SECONDS = 2

/**
 * What messaging writes around an envelope (libs/contracts, accepted.ts), at both ends of the text: the envelope between them is somebody
 * else's, and is not parsed, but goes on to the client as it is (spec 6.6).
 */
const BEFORE_ENVELOPE = /^\{"cursor":([1-9]\d{0,15}),"kind":"(?:inbox|requests)","message":\{"envelope":\{/
const BEHIND_ENVELOPE = /,"expires_at":(\d{1,15}),"acked":(?:true|false),"upvotes":\d{1,15}\}\}$/
/** More than what is behind an envelope ever takes. */
const BEHIND_CHARACTERS = 200

/** Reads what the outbox publishes. @returns undefined for what is not of its form. */
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

/** A reference has ids and numbers alone. */
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
