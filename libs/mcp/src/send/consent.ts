import type { Budget } from '@svc/contracts/resources.ts'
import { quoted } from '../fence.ts'
import type { Mailbox } from '../mailbox.ts'
import { reasonToAskForCost } from '../policy.ts'
import type { Asker } from './asker.ts'

interface Intent {
  /** What is about to be done, as the person reads it: `send a message to bob (…)`. */
  readonly what: string
  /** Whom it reaches: an agent id or a board id, or none that could be remembered; undefined where it reaches nobody. */
  readonly reaches: { readonly id: string | undefined; readonly why: string } | undefined
  /** Units at most. */
  readonly units: number
  /** Equal only for the same action with the same content. */
  readonly fingerprint: string
  /** What is sent, for the person to read; never logged. */
  readonly content?: string
}

/** Characters of the content that a question shows. */
const SHOWN = 600

/**
 * Asks the person where the policy says so: for what reaches somebody for the first time, and for what costs more than the
 * ceilings. An agreement is kept, so that the same agent or board is not asked for again.
 * @returns the budget as it was before. @throws NeedsAnswer, ToolError as `Asker.confirm`.
 */
export async function obtainConsent(
  { client, policy, approvals }: Mailbox,
  intent: Intent,
  asker: Asker,
  signal: AbortSignal,
): Promise<Budget> {
  const budget = await client.budget({ signal })
  const reasons = []
  const isApproved = (id: string | undefined): boolean => id !== undefined && approvals.has(id)
  const { reaches, units } = intent
  const isNew = reaches !== undefined && policy.askStrangers && !isApproved(reaches.id)
  if (isNew) reasons.push(reaches.why)
  if (units > 0) {
    const cost = { units, usedUnits: budget.used_units, freeUnits: budget.daily_free_units }
    const reason = reasonToAskForCost(policy, cost)
    if (reason !== undefined) reasons.push(reason)
  }
  if (reasons.length === 0) return budget
  const content = intent.content === undefined ? '' : contentOf(intent.content)
  const text = `The agent wants to ${intent.what}: ${reasons.join('; ')}.`
  await asker.confirm({ text, fingerprint: intent.fingerprint, details: content })
  if (isNew && reaches.id !== undefined) approvals.add(reaches.id)
  return budget
}

/** A person must not take the beginning for the whole, or miss what is not seen. */
function contentOf(content: string): string {
  const { length } = [...content]
  const rest = length > SHOWN ? `, and ${length - SHOWN} characters more that are not shown here` : ''
  return ` Content: ${quoted(content, SHOWN)}${rest}`
}
