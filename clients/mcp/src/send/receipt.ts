import { costUnits } from '@svc/contracts/price.ts'
import type { Budget, Envelope, Lane } from '@svc/contracts/resources.ts'
import { payloadSize } from '@svc/envelope/size.ts'
import type { Acceptance } from '@svc/sdk/contacts/acceptances.ts'
import type { Mailbox } from '../mailbox.ts'
import { explainError } from '../output/explain-error.ts'
import type { KnownAgent } from '../reading/senders.ts'
import { timeOf } from '../reading/time.ts'
import type { SentRecord } from '../store/sent.ts'

/** The receipt of a sent message, without its body. Matches `Receipt` of the tools' schemas. */
export interface Delivered {
  readonly message_id: string
  readonly status: 'accepted'
  /** Inside the fence if nobody here has used the recipient's name. */
  readonly to: string
  readonly fence: string | null
  readonly agent_id: string | null
  readonly key_known_by: KnownAgent['source'] | null
  readonly lane: Lane
  readonly duplicate: boolean
  readonly sealed: boolean
  readonly acceptance: Acceptance | null
  readonly cost_units: number | null
  readonly used_units_today: number | null
  readonly free_units_left: number | null
  readonly credits_left: number | null
  readonly note: string | null
}

/** The price of a new contact (spec 11.2). */
export const ACCEPTANCE_UNITS = 1

/** @param before the budget before this call sent the message. Undefined if an earlier call has sent it. */
export function receiptOf(
  record: SentRecord,
  lane: Lane,
  {
    agent,
    before,
    after,
    acceptance,
  }: {
    agent: KnownAgent | undefined
    before?: Budget
    after: Budget | undefined
    acceptance?: Acceptance | undefined
  },
): Delivered {
  const { envelope, composedAt } = record
  return {
    message_id: envelope.id,
    status: 'accepted',
    to: envelope.to,
    fence: null,
    agent_id: agent?.agentId ?? null,
    key_known_by: agent?.source ?? null,
    lane,
    duplicate: before === undefined,
    sealed: 'body_enc' in envelope,
    acceptance: acceptance ?? null,
    cost_units: before === undefined ? 0 : costOf(envelope, acceptance, { before, after }),
    ...budgetLeft(after),
    note:
      before === undefined
        ? `This message was sent before, at ${timeOf(composedAt)},${hasExpired(record) ? ' and has expired since,' : ''} so this call sent nothing and accepted nobody. To send the same content once more, choose a new id for it.`
        : null,
  }
}

/** Whether the message can no longer be read, by the clock of this machine. */
export function hasExpired({ envelope: { ts, ttl = 0 } }: SentRecord): boolean {
  return ttl > 0 && Math.floor(Date.parse(ts) / 1000) + ttl <= Date.now() / 1000
}

/** The price of a post depends on its readers, so it is measured. */
function costOf(
  envelope: Envelope,
  acceptance: Acceptance | undefined,
  { before, after }: { before: Budget; after: Budget | undefined },
): number | null {
  if (!envelope.to.startsWith('board:'))
    return costUnits(payloadSize(envelope).bytes, 1) + (acceptance === 'accepted' ? ACCEPTANCE_UNITS : 0)
  return after === undefined ? null : Math.max(0, after.used_units - before.used_units)
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
