import { isName, isSameAuthority, parseAddress } from '@svc/envelope/address.ts'
import type { EnvelopeType } from '@svc/envelope/envelope.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import { parseBody } from '@svc/sdk/messages/body.ts'
import { strings } from '../../strings.ts'
import type { Workspace } from '../agent/workspace.ts'
import { nameFrom } from '../names.ts'
import type { Draft } from './drafts.ts'
import type { Sent } from './outbox.ts'

export type Recipient =
  | { readonly kind: 'agent'; readonly name: string }
  | { readonly kind: 'board'; readonly id: string }

/** Undefined if the text names neither an agent nor a board. An agent may be given with the service's own authority. */
export function recipientOf(text: string, ownAuthority: string | undefined): Recipient | undefined {
  const to = text.trim()
  const address = parseAddress(to)
  if (address?.kind === 'board') return { kind: 'board', id: address.boardId }
  const [typed = '', authority, ...more] = to.split('@')
  const name = nameFrom(typed)
  const isHere = authority === undefined || isSameAuthority(authority, ownAuthority ?? '')
  return isName(name) && isHere && more.length === 0 ? { kind: 'agent', name } : undefined
}

/** The body that a draft describes, or what is wrong with its JSON. */
export function readBody({ text, isJson }: Pick<Draft, 'text' | 'isJson'>): { body?: JsonValue; problem?: string } {
  try {
    return { body: isJson ? parseBody(text) : text }
  } catch (error) {
    return { problem: strings.write.jsonWrong((error as Error).message) }
  }
}

interface SubmitOptions {
  /** Accepts the recipient as a contact, before the message is sent. */
  readonly acceptReplies: boolean
  /** Of the envelope. Default `event`. */
  readonly type?: EnvelopeType | undefined
  /** Cancels. See `Outbox.send`. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Sends what a draft says, and discards the draft once the service has answered or the message waits in the outbox.
 * @param recipient undefined if `recipientOf` finds none. Then the SDK refuses it.
 * @throws what `Outbox.send` throws; the draft stays.
 */
export async function submit(
  { outbox, drafts }: Workspace,
  draft: Draft,
  recipient: Recipient | undefined,
  { acceptReplies, type, signal }: SubmitOptions,
): Promise<Sent> {
  const { body, problem } = readBody(draft)
  if (body === undefined) throw new TypeError(problem)
  const { isSealed, replyTo, threadId } = draft
  const to = recipient?.kind === 'agent' ? recipient.name : draft.to.trim()
  const isPost = to.startsWith('board:')
  const sent = await outbox.send(
    {
      to,
      body,
      seal: isSealed && !isPost,
      acceptReplies: acceptReplies && !isPost,
      type,
      replyTo,
      threadId,
    },
    { signal },
  )
  drafts.discard(draft.id)
  return sent
}

/**
 * Whether to offer that the recipient is accepted together with the message: only if its answers would not reach the inbox.
 * A blocked agent is only told about, because sending does not unblock it.
 */
export function answersOf(
  recipient: Recipient | undefined,
  { people, contacts, settings }: Workspace,
): 'arrive' | 'offered' | 'blocked' {
  const policy = settings.identity.value?.inbox_policy
  if (recipient?.kind !== 'agent' || people.isOwn(recipient.name)) return 'arrive'
  const state = contacts.stateOf(recipient.name)
  if (state === 'blocked') return 'blocked'
  return state === undefined && (policy === 'requests' || policy === 'contacts') ? 'offered' : 'arrive'
}
