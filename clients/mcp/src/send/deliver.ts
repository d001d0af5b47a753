import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { costUnits } from '@svc/contracts/price.ts'
import type { Budget, Envelope, Lane, SendResult } from '@svc/contracts/resources.ts'
import type { EnvelopeType } from '@svc/envelope/envelope.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import { payloadSize } from '@svc/envelope/size.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import type { Acceptance } from '@svc/sdk/contacts/acceptances.ts'
import { AnswerError, ApiError, isCode, NetworkError } from '@svc/sdk/errors.ts'
import { postKept } from '@svc/sdk/messages/post-kept.ts'
import type { Call } from '../call.ts'
import type { Mailbox } from '../mailbox.ts'
import { ToolError } from '../output/tool-error.ts'
import { textOf } from '../reading/read.ts'
import type { KnownAgent } from '../reading/senders.ts'
import type { SentRecord } from '../store/sent.ts'
import { checkBefore, checkRecipient } from './checks.ts'
import { obtainConsent } from './consent.ts'
import { ACCEPTANCE_UNITS, type Delivered, findBudget, hasExpired, receiptOf } from './receipt.ts'
import { findContact, isTrusted, mostRecipients, type Recipient, reachOf, type Standing } from './recipient.ts'

export interface Outgoing {
  readonly to: Recipient
  readonly body: JsonValue
  readonly type: EnvelopeType
  readonly seal: boolean
  /** The caller's own id. Without it, the same content within a day is the same message. */
  readonly id?: string | undefined
  readonly replyTo?: string | undefined
  readonly threadId?: string | undefined
  /** Seconds. */
  readonly ttl?: number | undefined
  /** Accept the recipient as a contact first, so that its answers reach the inbox. */
  readonly acceptReplies?: boolean
}

/**
 * Sends one message. Steps: policy, consent, store the envelope, accept the recipient if the caller wants it, post the
 * envelope, read the budget. The envelope is stored before the first request leaves, so a call that is repeated finds it,
 * whatever has become of the first call. Nobody can know whether a client has received a result, so a repeat is recognized by
 * its content.
 * @throws ToolError, NeedsAnswer, and the errors of the SDK.
 */
export async function deliver(mailbox: Mailbox, outgoing: Outgoing, call: Call): Promise<Delivered> {
  return mailbox.exclusively(async () => {
    const { fence, signal } = call
    // A reply can go to an agent whose name nobody here has used yet.
    const agent = 'agent' in outgoing.to ? outgoing.to.agent : undefined
    const shown = (receipt: Delivered): Delivered =>
      agent?.isUsed === false ? { ...receipt, to: fence.line(receipt.to), fence: fence.nonce } : receipt
    const contact = await findContact(mailbox, outgoing.to, signal)
    checkRecipient(mailbox, contact)
    const fingerprint = fingerprintOf(outgoing)
    const earlier = findEarlier(mailbox, outgoing, fingerprint)
    const accepted = earlier === undefined ? undefined : await findAccepted(mailbox, earlier, signal)
    if (earlier !== undefined && accepted !== undefined) {
      return shown(receiptOf(earlier, accepted, { agent, after: await findBudget(mailbox, signal) }))
    }
    const { record, budget } = await prepare(mailbox, { outgoing, contact, fingerprint, earlier }, call)
    mailbox.senders.use(agent ?? {})
    // Before the message, so that no answer is faster.
    const acceptance = await accept(mailbox, { outgoing, contact, id: record.envelope.id }, signal)
    const { lane, msg_id: id } = await post(mailbox, outgoing, record, signal)
    if (id !== record.envelope.id) throw new AnswerError('the answer is about another message')
    mailbox.log('sent', { id })
    if (outgoing.replyTo !== undefined) mailbox.told.markAnswered(outgoing.replyTo)
    return shown(
      receiptOf(record, lane, { agent, before: budget, after: await findBudget(mailbox, signal), acceptance }),
    )
  }, call.signal)
}

/** The message that this call repeats; undefined for a new one. @throws ToolError `id_conflict`. */
function findEarlier({ sent }: Mailbox, { id }: Outgoing, fingerprint: string): SentRecord | undefined {
  if (id === undefined) return sent.findRecent(fingerprint, Math.floor(Date.now() / 1000))
  const earlier = sent.find(id)
  if (earlier !== undefined && earlier.fingerprint !== fingerprint) {
    throw new ToolError('id_conflict', 'you have used this message_id for another message. Choose a new one.')
  }
  return earlier
}

/**
 * The lane of the message, if the service has accepted it. A repeat is then free and needs no consent. Otherwise policy and
 * consent are checked again, because fewer units may be left now, and the recipient may no longer be a contact.
 */
async function findAccepted({ client }: Mailbox, earlier: SentRecord, signal: AbortSignal): Promise<Lane | undefined> {
  const { envelope } = earlier
  try {
    const message = await client.message(envelope.id, { signal })
    if (isDeepStrictEqual(message.envelope, envelope)) return message.lane
    throw new AnswerError('the answer is not the message that was sent')
  } catch (error) {
    if (!isCode(error, 'not_found')) throw withId(error, envelope.id)
    return hasExpired(earlier) ? findExpired(client, envelope, signal) : undefined
  }
}

/** The lane of an expired message. The service no longer shows it, but answers its repeat, and refuses one that it never accepted (spec 7.4). */
async function findExpired(client: AgentClient, envelope: Envelope, signal: AbortSignal): Promise<Lane | undefined> {
  try {
    return (await client.post(envelope, { signal })).lane
  } catch (error) {
    if (isCode(error, 'expired') || isCode(error, 'envelope_timestamp_out_of_range')) return undefined
    throw withId(error, envelope.id)
  }
}

async function prepare(
  mailbox: Mailbox,
  {
    outgoing,
    contact,
    fingerprint,
    earlier,
  }: { outgoing: Outgoing; contact: Standing; fingerprint: string; earlier: SentRecord | undefined },
  { asker, signal }: Call,
): Promise<{ record: SentRecord; budget: Budget }> {
  const { to, body } = outgoing
  const envelope = earlier?.envelope ?? (await compose(mailbox, outgoing, signal))
  const { bytes } = payloadSize(envelope)
  const units = costUnits(bytes, await mostRecipients(mailbox, to, signal))
  const accepts = mustAccept(outgoing, contact)
  const more = accepts ? ACCEPTANCE_UNITS : 0
  const deed = 'agent' in to ? `send a message to "${to.agent.name}"` : `post to the board ${to.boardId}`
  const budget = await obtainConsent(
    mailbox,
    {
      what: accepts ? `${deed} (${inUnits(units)}), and before that ${ACCEPT} (${inUnits(more)})` : deed,
      reaches: isTrusted(contact) ? undefined : reachOf(to, accepts),
      units: units + more,
      leastUnits: costUnits(bytes, 1) + more,
      fingerprint: accepts ? `${fingerprint} accept` : fingerprint,
      content: textOf(body),
      check: () => checkBefore(mailbox, outgoing, signal),
    },
    asker,
    signal,
  )
  const after = await mailbox.client.latestCursor({ signal })
  const record = { envelope, body, fingerprint, composedAt: Math.floor(Date.now() / 1000), after }
  mailbox.sent.save(record)
  return { record, budget }
}

const ACCEPT = 'accept it as a contact, so that its answers reach the inbox'

function inUnits(units: number): string {
  return units === 1 ? '1 unit' : `${units} units`
}

/** Never for a blocked agent. */
function mustAccept(
  outgoing: Outgoing,
  contact: Standing,
): outgoing is Outgoing & { to: { readonly agent: KnownAgent } } {
  return outgoing.acceptReplies === true && contact === 'none'
}

/** Accepts the recipient, if the caller wants it and it has no state. @returns undefined if the caller does not want it. */
async function accept(
  mailbox: Mailbox,
  { outgoing, contact, id }: { outgoing: Outgoing; contact: Standing; id: string },
  signal: AbortSignal,
): Promise<Acceptance | undefined> {
  if (outgoing.acceptReplies !== true || contact === undefined) return undefined
  if (!mustAccept(outgoing, contact)) return contact === 'blocked' ? 'blocked' : 'already'
  await checkBefore(mailbox, outgoing, signal)
  const { client, log } = mailbox
  const { agentId } = outgoing.to.agent
  const acceptance = await client.acceptReplies(agentId, { signal, afresh: true }).catch((error: unknown) => {
    if (!(error instanceof NetworkError || error instanceof AnswerError)) throw error
    const problem = 'the service did not answer when the recipient was to be accepted. The message was not sent'
    throw new ToolError(
      'no_answer',
      `${problem}. To send it, call again with the same content, or with message_id ${id}.`,
    )
  })
  if (acceptance === 'accepted') log('accepted', { agent: agentId })
  return acceptance
}

/** @throws ToolError `cannot_seal`; ApiError `message_too_large`. */
async function compose({ client }: Mailbox, outgoing: Outgoing, signal: AbortSignal): Promise<Envelope> {
  const { to, body, type, seal, id, replyTo, threadId, ttl } = outgoing
  if (!('agent' in to) && seal)
    throw new ToolError('cannot_seal', 'a board has no key, so a post cannot be sealed for it')
  const address = 'agent' in to ? to.agent.name : `board:${to.boardId}`
  // Seals for the pinned key, not for the key that the service gives now.
  const key = seal && 'agent' in to ? to.agent.pubkey : false
  return client.compose({ to: address, body, type, id, replyTo, threadId, ttl }, { seal: key, signal })
}

/** Posts the stored envelope, or stores and posts a new one with its id. */
async function post(
  mailbox: Mailbox,
  outgoing: Outgoing,
  record: SentRecord,
  signal: AbortSignal,
): Promise<SendResult> {
  const { id } = record.envelope
  const posting = (envelope: Envelope): Promise<SendResult> =>
    mailbox.client.post(envelope, { signal }).catch((error: unknown) => {
      throw withId(error, id)
    })
  return postKept(record.envelope, posting, async () => {
    const envelope = await compose(mailbox, { ...outgoing, id }, signal)
    mailbox.sent.save({ ...record, envelope })
    return envelope
  })
}

/** Tells the caller how to repeat the call after a lost answer. */
function withId(error: unknown, id: string): unknown {
  const isUnknown = error instanceof NetworkError || error instanceof AnswerError
  if (!isUnknown && !(error instanceof ApiError && error.status >= 500)) return error
  return new ToolError(
    'no_answer',
    `the service did not answer, so it is unknown whether the message was sent. To be sure, call again with the same content, or with message_id ${id}: that is the same message, never a second one.`,
  )
}

/** Equal for two calls that send the same message. Ignores the id. */
function fingerprintOf({ to, body, type, seal, replyTo, threadId, ttl }: Outgoing): string {
  const target = 'agent' in to ? to.agent.agentId : to.boardId
  return hash('sha256', JSON.stringify([target, body, type, seal, replyTo ?? null, threadId ?? null, ttl ?? 0]))
}
