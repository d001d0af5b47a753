/** Messages that svc has sent, but for which no answer came. Each is kept until it is known whether it was accepted. */
import type { Envelope, SendResult } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import type { Acceptance } from '@svc/sdk/contacts/acceptances.ts'
import { AnswerError, ApiError, NetworkError } from '@svc/sdk/errors.ts'
import type { Draft } from '@svc/sdk/messages/compose.ts'
import { postKept } from '@svc/sdk/messages/post-kept.ts'
import type { Store } from '@svc/sdk/store/store.ts'
import { UsageError } from '../../io.ts'

/** A message, with all that is needed to sign it again. */
export interface Unsent {
  readonly draft: Draft & { readonly id: string }
  /** True, or the key to seal it for. */
  readonly seal: boolean | string
  /** Accept the recipient as a contact first. */
  readonly acceptReplies: boolean
  readonly envelope: Envelope
}

const KEY = 'unsent/'
/** The service has not looked at the message. An earlier try can have been accepted. */
const UNREAD: readonly string[] = ['unauthenticated', 'timestamp_out_of_range', 'nonce_replayed', 'rate_limited']

interface Delivery {
  readonly client: AgentClient
  readonly store: Store
  readonly signal: AbortSignal
  /** Keep the message also at the end of the units, because a person asks to repeat it. */
  readonly isRepeat: boolean
  /** Told what became of the acceptance of the recipient. */
  readonly onAcceptance: (acceptance: Acceptance) => void
}

/**
 * Sends a message under its id, however often it is called: the service accepts the id once. The message is on the disk before
 * it is sent, and until it is accepted or refused for good.
 */
export async function deliver(
  { client, store, signal, isRepeat, onAcceptance }: Delivery,
  message: Unsent,
): Promise<SendResult> {
  const { draft, seal, acceptReplies } = message
  const keep = (envelope: Envelope): Promise<void> =>
    store.set(KEY + draft.id, JSON.stringify({ ...message, envelope }))
  await keep(message.envelope)
  let result: SendResult
  try {
    if (acceptReplies) onAcceptance(await client.acceptReplies(draft.to, { signal }))
    const renew = async (): Promise<Envelope> => {
      const anew = await client.compose(draft, { seal, signal })
      await keep(anew)
      return anew
    }
    result = await postKept(message.envelope, (envelope) => client.post(envelope, { signal }), renew)
  } catch (error) {
    const isWanted = isRepeat && error instanceof ApiError && error.status === 429
    if (!isUnknown(error, signal) && !isWanted) await store.delete(KEY + draft.id)
    throw error
  }
  await store.delete(KEY + draft.id)
  return result
}

/** Whether a message can have been accepted, although the call failed. */
export function isUnknown(error: unknown, signal: AbortSignal): boolean {
  if (error instanceof ApiError) return error.status >= 500 || UNREAD.includes(error.code)
  return signal.aborted || error instanceof NetworkError || error instanceof AnswerError
}

/** @throws UsageError if there is no such message. */
export async function findUnsent(store: Store, id: string): Promise<Unsent> {
  const text = /^[A-Za-z0-9_-]{8,80}$/.test(id) ? await store.get(KEY + id) : undefined
  if (text !== undefined) return JSON.parse(text) as Unsent
  const kept = (await store.keys(KEY)).map((key) => key.slice(KEY.length))
  const hint = kept.length === 0 ? 'none is kept for this agent' : `kept are ${kept.join(', ')}`
  throw new UsageError(`no message ${id} is kept: it was accepted or refused, or another agent sent it; ${hint}`)
}
