/** `AgentClient.request`: sends a request, and waits for its answer. */
import type { Envelope, Message, SendResult } from '@svc/contracts/resources.ts'
import type { EnvelopeType } from '@svc/envelope/envelope.ts'
import { jcs } from '@svc/envelope/jcs.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import { isCode, RequestTimeout, StoreError, VerificationError } from '../errors.ts'
import type { CallOptions } from '../http/options.ts'
import { abortAfter, linkAbort, untilAborted } from '../http/waiting.ts'
import type { Store } from '../store/store.ts'
import { type Received, RequestFailed } from './answer.ts'
import type { AnswerWatch } from './answer-watch.ts'
import { postKept } from './post-kept.ts'

export interface RequestOptions extends CallOptions {
  /** How long to wait for the answer, from the call. Default 60,000. */
  readonly timeoutMs?: number | undefined
  /** See `ComposeOptions`. */
  readonly seal?: boolean | string | undefined
  /** Accept the recipient as a contact first, so that its answers reach the inbox. One unit the first time. Default true. */
  readonly acceptReplies?: boolean | undefined
  /**
   * Names the request among all requests of this agent, e.g. `order 17`. A repeat with the same key, also by a later process,
   * is the same message: it is accepted and charged once, and finds an answer that has arrived meanwhile. So use a key once,
   * for one recipient and one body. The client's `store` keeps the envelope until the answer was returned.
   */
  readonly key?: string | undefined
  /** See `Draft`. */
  readonly ttl?: number | undefined
  readonly threadId?: string | undefined
  readonly replyTo?: string | undefined
}

/** The calls of a client that a request needs. */
interface RequestDeps {
  /** The address of the recipient. */
  readonly to: (options: CallOptions) => Promise<string>
  readonly body: JsonValue
  /** @param id undefined: a random one. */
  readonly compose: (id: string | undefined, options: CallOptions) => Promise<Envelope>
  /** Accepts the recipient as a contact, if the caller wants it. */
  readonly accept: (options: CallOptions) => Promise<unknown>
  readonly post: (envelope: Envelope, options: CallOptions) => Promise<SendResult>
  readonly latestCursor: (options: CallOptions) => Promise<number>
  /** Opens a message that must be from the recipient. */
  readonly open: (message: Message, options: CallOptions) => Promise<Received>
  readonly ack: (id: string, options: CallOptions) => Promise<unknown>
  readonly watch: AnswerWatch
  readonly store: Store | undefined
  readonly warn: (message: string) => void
}

/** In the store: the envelope, and the cursor after which its answer comes. */
interface Kept {
  readonly cursor: number
  readonly envelope: Envelope
}

const KEPT = 'requests/'
const ANSWERS: readonly EnvelopeType[] = ['response', 'error']
const DEFAULT_TIMEOUT_MS = 60_000

/** @param id derived from the caller's key. Undefined: the request is not repeated. */
export async function sendRequest(
  deps: RequestDeps,
  id: string | undefined,
  { key, timeoutMs = DEFAULT_TIMEOUT_MS, signal }: RequestOptions,
): Promise<Received> {
  const limit = new AbortController()
  const unlink = linkAbort(signal, () => limit.abort(signal?.reason))
  let sent = id
  const call = { signal: limit.signal }
  const stopTimer = abortAfter(limit, timeoutMs, () => new RequestTimeout(sent, timeoutMs))
  let reply: Received
  try {
    reply = await untilAborted(exchange(), limit.signal)
  } finally {
    stopTimer()
    unlink()
    limit.abort(new Error('the request has ended'))
  }
  await deps.ack(reply.id, { signal }).catch((error: unknown) => {
    // The answer is here, and must not be lost for an acknowledgement.
    if (!isCode(error, 'not_found'))
      deps.warn(`the answer ${reply.id} was not acknowledged: ${(error as Error).message}`)
  })
  if (id !== undefined) await deps.store?.delete(KEPT + id)
  if (reply.type === 'error') throw new RequestFailed(reply)
  return reply

  async function exchange(): Promise<Received> {
    const { envelope, cursor, isRepeat } = await prepare(deps, id, key, call)
    sent = envelope.id
    // Before the request, so that no answer is faster.
    await deps.accept(call)
    const answer = deps.watch.wait(envelope.id, cursor, limit.signal, (message) => openAnswer(deps, message, call))
    // Awaited only after the post, so it must not count as unhandled if the post fails.
    answer.catch(() => undefined)
    const isSent = await deliver(deps, { envelope, cursor }, id, call)
    // The answer to a request that an earlier call has sent can be in the history. Without its cursor, all of it is read.
    if (isSent || isRepeat) await deps.watch.search(isRepeat ? cursor : 0, limit.signal)
    return answer
  }
}

/** The kept envelope of an earlier call with this id, or a new one. */
async function prepare(
  deps: RequestDeps,
  id: string | undefined,
  key: string | undefined,
  call: CallOptions,
): Promise<Kept & { isRepeat: boolean }> {
  const text = id === undefined ? undefined : await deps.store?.get(KEPT + id)
  if (text !== undefined) {
    const kept = keptIn(text, id)
    await assertRepeat(deps, kept.envelope, key, call)
    return { ...kept, isRepeat: true }
  }
  const envelope = await deps.compose(id, call)
  // Before the request is sent, so the answer comes after this cursor.
  const cursor = deps.watch.cursor ?? (await deps.latestCursor(call))
  await keep(deps, id, { cursor, envelope })
  return { envelope, cursor, isRepeat: false }
}

/** @throws StoreError. */
function keptIn(text: string, id: string | undefined): Kept {
  try {
    const kept = JSON.parse(text) as Kept
    if (Number.isSafeInteger(kept.cursor) && kept.envelope.id === id) return kept
  } catch {
    // Reported below.
  }
  throw new StoreError(`${KEPT}${id} in the store is damaged: delete it, and use another key for the request`)
}

/** The kept envelope would be sent again, whatever the caller asks now. The body of a sealed one cannot be compared. */
async function assertRepeat(
  deps: RequestDeps,
  envelope: Envelope,
  key: string | undefined,
  call: CallOptions,
): Promise<void> {
  const refuse = (other: string): never => {
    throw new TypeError(`the key ${JSON.stringify(key)} belongs to a request ${other}: use another key`)
  }
  if (envelope.to.toLowerCase() !== (await deps.to(call)).toLowerCase()) refuse(`to ${envelope.to}`)
  if ('body' in envelope && jcs(envelope.body) !== jcs(deps.body)) refuse('with another body')
}

/** Before the envelope is posted. */
async function keep({ store }: RequestDeps, id: string | undefined, kept: Kept): Promise<void> {
  if (id !== undefined) await store?.set(KEPT + id, JSON.stringify(kept))
}

/** Posts the envelope. @returns whether an earlier call had sent it. */
async function deliver(
  deps: RequestDeps,
  { envelope, cursor }: Kept,
  id: string | undefined,
  call: CallOptions,
): Promise<boolean> {
  const renew = async (): Promise<Envelope> => {
    const anew = await deps.compose(envelope.id, call)
    await keep(deps, id, { cursor, envelope: anew })
    return anew
  }
  try {
    return (await postKept(envelope, (one) => deps.post(one, call), renew)).duplicate
  } catch (error) {
    // Only this agent can make the id, so it sent the request with another envelope, which was not kept.
    if (id !== undefined && isCode(error, 'id_conflict')) return true
    throw error
  }
}

/** The answer, if the message is one from the recipient. */
async function openAnswer(deps: RequestDeps, message: Message, call: CallOptions): Promise<Received | undefined> {
  const { type, to } = message.envelope
  if (!ANSWERS.includes(type) || to.startsWith('board:')) return undefined
  try {
    return await deps.open(message, call)
  } catch (error) {
    // Of somebody else, or forged: no answer. It stays in the inbox.
    if (error instanceof VerificationError && error.reason !== 'key_changed') return undefined
    throw error
  }
}
