import type { SendResult } from '@svc/contracts/resources.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import type { Workspace } from '../agent/workspace.ts'
import { isBoardId, isName, nameFrom } from '../names.ts'
import type { Draft } from './drafts.ts'

export type Recipient =
  | { readonly kind: 'agent'; readonly name: string }
  | { readonly kind: 'board'; readonly id: string }

const BOARD = 'board:'

/** Undefined if the text names neither an agent nor a board. An agent may be given with the service's own authority. */
export function recipientOf(text: string, ownAuthority: string | undefined): Recipient | undefined {
  const to = text.trim()
  if (to.startsWith(BOARD)) {
    const id = to.slice(BOARD.length)
    return isBoardId(id) ? { kind: 'board', id } : undefined
  }
  const [typed = '', authority] = to.split('@')
  const name = nameFrom(typed)
  return isName(name) && (authority === undefined || authority === ownAuthority) ? { kind: 'agent', name } : undefined
}

/** The body that a draft describes. Undefined if it should be JSON and is not. */
export function bodyOf({ text, isJson }: Pick<Draft, 'text' | 'isJson'>): JsonValue | undefined {
  if (!isJson) return text
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return undefined
  }
}

/**
 * Sends what a draft says, and discards it once the service has answered or the envelope is stored for a retry.
 * @returns undefined if no answer came. @throws ApiError if the service refused; the draft stays.
 */
export async function submit(
  workspace: Workspace,
  draft: Draft,
  recipient: Recipient,
): Promise<SendResult | undefined> {
  const { outbox, drafts, people } = workspace
  const body = bodyOf(draft)
  if (body === undefined) throw new TypeError('the text is not JSON')
  const { replyTo, threadId } = draft
  let result: SendResult | undefined
  if (recipient.kind === 'board') {
    result = await outbox.send({ to: `${BOARD}${recipient.id}`, body, seal: false, replyTo, threadId })
  } else {
    const pinned = [...people.known.value.values()].find(
      ({ name, source }) => name === recipient.name && source !== 'directory',
    )
    // The key of the recipient is remembered, so that answers can be verified.
    const { pubkey } = pinned ?? (await people.lookUp(recipient.name))
    result = await outbox.send({ to: recipient.name, body, seal: draft.isSealed && pubkey, replyTo, threadId })
  }
  drafts.discard(draft.id)
  return result
}
