import { hash } from 'node:crypto'
import { LIMITS } from '@svc/contracts/limits.ts'
import { costUnits } from '@svc/contracts/price.ts'
import type { Budget, Envelope, SendResult } from '@svc/contracts/resources.ts'
import type { EnvelopeType } from '@svc/envelope/envelope.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import { bodySize } from '@svc/envelope/size.ts'
import { AnswerError, ApiError } from '@svc/sdk/errors.ts'
import type { Mailbox } from '../mailbox.ts'
import { explainError } from '../output/explain-error.ts'
import { ToolError } from '../output/tool-error.ts'
import { textOf } from '../reading/read.ts'
import type { KnownAgent } from '../reading/senders.ts'
import type { SentRecord } from '../store/sent.ts'
import type { Call } from '../tools/tool.ts'
import { obtainConsent } from './consent.ts'
import { isAccepted } from './contacts.ts'

export interface Outgoing {
  readonly to: { readonly agent: KnownAgent } | { readonly boardId: string }
  readonly body: JsonValue
  readonly type: EnvelopeType
  readonly seal: boolean
  /** The caller's own id. Default: a random one. */
  readonly id?: string | undefined
  readonly replyTo?: string | undefined
  readonly threadId?: string | undefined
  /** Seconds. */
  readonly ttl?: number | undefined
}

/** The receipt of a sent message, without its body. Matches `Receipt` of the tools' schemas. */
interface Delivered {
  readonly message_id: string
  readonly status: 'accepted'
  readonly to: string
  readonly lane: string
  readonly duplicate: boolean
  readonly sealed: boolean
  readonly cost_units: number | null
  readonly used_units_today: number | null
  readonly free_units_left: number | null
  readonly credits_left: number | null
}

/**
 * Sends one message. Steps: policy, consent, store the envelope, post it, read the budget. The envelope is stored before the
 * first request leaves, so every retry posts this envelope, which is accepted and charged once (spec 7.4).
 * @throws ToolError, NeedsAnswer, and the errors of the SDK.
 */
export async function deliver(mailbox: Mailbox, outgoing: Outgoing, call: Call): Promise<Delivered> {
  return mailbox.exclusively(async () => {
    await checkRecipient(mailbox, outgoing.to, call.signal)
    const fingerprint = fingerprintOf(outgoing)
    const earlier = findEarlier(mailbox, outgoing, fingerprint)
    const isRepeat = earlier !== undefined && (await wasAccepted(mailbox, earlier, call.signal))
    const { record, budget } = isRepeat
      ? { record: earlier, budget: undefined }
      : await prepare(mailbox, { outgoing, fingerprint, earlier }, call)
    const result = await postKept(mailbox, outgoing, record, call.signal)
    if (result.msg_id !== record.envelope.id) throw new AnswerError('the answer is about another message')
    const after = await findBudget(mailbox, call.signal)
    // The client may have disconnected without learning that the message was accepted. If it repeats the call without an
    // id, it means this message.
    if (!call.signal.aborted) keepTold(mailbox, record)
    mailbox.log('sent', { id: record.envelope.id, duplicate: result.duplicate })
    return receiptOf(result, record.envelope, { before: budget, after, isPost: 'boardId' in outgoing.to })
  }, call.signal)
}

/** The message was accepted, and the caller must learn this even if the disk fails. A repeat without an id then means this message. */
function keepTold({ sent, log }: Mailbox, record: SentRecord): void {
  try {
    sent.save({ ...record, told: true })
  } catch (error) {
    log('keep.failed', { code: explainError(error).code })
  }
}

/** The message that this call repeats; undefined for a new one. @throws ToolError `id_conflict`. */
function findEarlier({ sent }: Mailbox, { id }: Outgoing, fingerprint: string): SentRecord | undefined {
  if (id === undefined) return sent.findUntold(fingerprint, Math.floor(Date.now() / 1000))
  const earlier = sent.find(id)
  if (earlier !== undefined && earlier.fingerprint !== fingerprint) {
    throw new ToolError('id_conflict', 'you have used this message_id for another message. Choose a new one.')
  }
  return earlier
}

/**
 * Whether the service has already accepted the message. A repeat is then free and needs no consent. Otherwise policy and
 * consent are checked again, because fewer units may be left now, and the recipient may no longer be a contact.
 */
async function wasAccepted(
  { client }: Mailbox,
  { envelope: { id }, told }: SentRecord,
  signal: AbortSignal,
): Promise<boolean> {
  if (told) return true
  try {
    await client.message(id, { signal })
    return true
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found') return false
    throw withId(error, id)
  }
}

async function prepare(
  mailbox: Mailbox,
  { outgoing, fingerprint, earlier }: { outgoing: Outgoing; fingerprint: string; earlier: SentRecord | undefined },
  { asker, signal }: Call,
): Promise<{ record: SentRecord; budget: Budget }> {
  const { to, body } = outgoing
  const envelope = earlier?.envelope ?? (await compose(mailbox, outgoing, signal))
  const units = costUnits(payloadBytes(envelope), await mostRecipients(mailbox, to, signal))
  const isContact =
    'agent' in to && (to.agent.source === 'own' || (await isAccepted(mailbox.client, to.agent.agentId, signal)))
  const budget = await obtainConsent(
    mailbox,
    {
      what: 'agent' in to ? `send a message to ${to.agent.name}` : `post to the board ${to.boardId}`,
      reaches: isContact ? undefined : reachOf(to),
      units,
      fingerprint,
      content: textOf(body),
    },
    asker,
    signal,
  )
  const after = await mailbox.client.latestCursor({ signal })
  const record = { envelope, body, fingerprint, composedAt: Math.floor(Date.now() / 1000), told: false, after }
  mailbox.sent.save(record)
  return { record, budget }
}

function reachOf(to: Outgoing['to']): { id: string; why: string } {
  return 'agent' in to
    ? { id: to.agent.agentId, why: `${to.agent.name} is not one of your accepted contacts` }
    : { id: to.boardId, why: 'others can read this board' }
}

/** @throws ToolError `contacts_only`. */
async function checkRecipient({ client, policy }: Mailbox, to: Outgoing['to'], signal: AbortSignal): Promise<void> {
  if (!policy.contactsOnly) return
  const isAllowed = 'agent' in to && (to.agent.source === 'own' || (await isAccepted(client, to.agent.agentId, signal)))
  if (isAllowed) return
  throw new ToolError(
    'contacts_only',
    'this server sends only to accepted contacts. Nothing was sent. Only the person you work for can accept contacts. Do not look for another way.',
  )
}

function compose({ client }: Mailbox, outgoing: Outgoing, signal: AbortSignal): Promise<Envelope> {
  const { to, body, type, seal, id, replyTo, threadId, ttl } = outgoing
  if (!('agent' in to) && seal)
    throw new ToolError('cannot_seal', 'a board has no key, so a post cannot be sealed for it')
  const address = 'agent' in to ? to.agent.name : `board:${to.boardId}`
  // Seals for the pinned key, not for the key that the service gives now.
  const key = seal && 'agent' in to ? to.agent.pubkey : false
  return client.compose({ to: address, body, type, id, replyTo, threadId, ttl }, { seal: key, signal })
}

/** Posts the stored envelope. If the envelope became too old before it was accepted, composes a new one with the same id. */
async function postKept(
  mailbox: Mailbox,
  outgoing: Outgoing,
  record: SentRecord,
  signal: AbortSignal,
): Promise<SendResult> {
  const { id } = record.envelope
  try {
    return await mailbox.client.post(record.envelope, { signal })
  } catch (error) {
    // A repeat of an accepted envelope is never refused (spec 7.2), so no message has this id yet.
    if (!(error instanceof ApiError) || error.code !== 'envelope_timestamp_out_of_range') throw withId(error, id)
    const envelope = await compose(mailbox, { ...outgoing, id }, signal)
    mailbox.sent.save({ ...record, envelope })
    return mailbox.client.post(envelope, { signal }).catch((again: unknown) => {
      throw withId(again, id)
    })
  }
}

/** Tells the caller how to repeat the call after a lost answer. */
function withId(error: unknown, id: string): unknown {
  if (error instanceof ApiError && error.status < 500) return error
  return new ToolError(
    'no_answer',
    `the service did not answer, so it is unknown whether the message was sent. To be sure, call again with the same content and message_id ${id}: that is the same message, never a second one.`,
  )
}

/** Size of the charged payload (spec 6.5). */
function payloadBytes(envelope: Envelope): number {
  return 'body_enc' in envelope ? Buffer.from(envelope.body_enc, 'base64').length : bodySize(envelope.body).bytes
}

/** The most recipients. Only the owner of a board can list its members. For others the estimate assumes the board's limit. */
async function mostRecipients({ client, key }: Mailbox, to: Outgoing['to'], signal: AbortSignal): Promise<number> {
  if ('agent' in to) return 1
  const { owner } = await client.board(to.boardId, { signal })
  if (owner !== key.agentId) return LIMITS.membershipsPerBoard
  const members = await client.members(to.boardId, { signal })
  return members.filter(({ role }) => role === 'writer' || role === 'reader').length
}

function receiptOf(
  { lane, duplicate }: SendResult,
  envelope: Envelope,
  { before, after, isPost }: { before: Budget | undefined; after: Budget | undefined; isPost: boolean },
): Delivered {
  const measured =
    before === undefined || after === undefined ? null : Math.max(0, after.used_units - before.used_units)
  const cost = isPost ? measured : costUnits(payloadBytes(envelope), 1)
  return {
    message_id: envelope.id,
    status: 'accepted',
    to: envelope.to,
    lane,
    duplicate,
    sealed: 'body_enc' in envelope,
    cost_units: duplicate ? 0 : cost,
    ...budgetLeft(after),
  }
}

/** The budget after an action. Undefined if the service does not answer, because the action has succeeded in any case. */
export async function findBudget({ client, log }: Mailbox, signal: AbortSignal): Promise<Budget | undefined> {
  try {
    return await client.budget({ signal })
  } catch (error) {
    if (!signal.aborted) log('budget.failed', { code: explainError(error).code })
    return undefined
  }
}

export function budgetLeft(
  budget: Budget | undefined,
): Pick<Delivered, 'used_units_today' | 'free_units_left' | 'credits_left'> {
  return {
    used_units_today: budget?.used_units ?? null,
    free_units_left: budget === undefined ? null : Math.max(0, budget.daily_free_units - budget.used_units),
    credits_left: budget?.credit_balance ?? null,
  }
}

/** Equal for two calls that send the same message. Ignores the id. */
function fingerprintOf({ to, body, type, seal, replyTo, threadId, ttl }: Outgoing): string {
  const target = 'agent' in to ? to.agent.agentId : to.boardId
  return hash('sha256', JSON.stringify([target, body, type, seal, replyTo ?? null, threadId ?? null, ttl ?? 0]))
}
