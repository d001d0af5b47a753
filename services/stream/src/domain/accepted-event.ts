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

/** Reads what the outbox publishes (libs/contracts, accepted.ts). @returns undefined for what is not of its form. */
export function parseAccepted(text: string, nowSeconds: number): AcceptedEvent | undefined {
  const value = parseJson(text)
  if (isAcceptedPost.Check(value)) {
    return {
      kind: 'event',
      heard: { cursor: value.cursor, content: { id: value.post.id, boardId: value.post.board_id } },
    }
  }
  if (!isWhole(value)) return undefined
  const { cursor, message } = value
  // The text itself goes on to the client: an envelope is returned with exactly the values that were sent (decisions 6).
  return message.expires_at - nowSeconds > CLOCK_MARGIN_SECONDS
    ? { kind: 'event', heard: { cursor, content: text } }
    : { kind: 'expiring', cursor }
}

function isWhole(value: unknown): value is { cursor: number; message: { expires_at: number } } {
  const { cursor, message } = (value ?? {}) as { cursor?: unknown; message?: { expires_at?: unknown } }
  return Number.isSafeInteger(cursor) && typeof message?.expires_at === 'number'
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
