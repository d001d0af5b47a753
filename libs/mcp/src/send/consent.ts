import type { Budget } from '@svc/contracts/resources.ts'
import type { Mailbox } from '../mailbox.ts'
import { quoted } from '../output/fence.ts'
import { reasonToAskForCost } from '../startup/policy.ts'
import type { Asker } from './asker.ts'

interface Intent {
  /** The action in words for the person, e.g. `send a message to bob`. */
  readonly what: string
  /**
   * The agent or board that the action reaches, and why this needs consent. Its id is undefined if an approval cannot be
   * stored. Undefined if the action reaches nobody, or only an accepted contact.
   */
  readonly reaches: { readonly id: string | undefined; readonly why: string } | undefined
  /** The most units that the action may cost. */
  readonly units: number
  /** Equal only for the same action with the same content. */
  readonly fingerprint: string
  /** The content that is sent, for the person to read. Never logged. */
  readonly content?: string
}

/** A question shows at most this many characters of the content. */
const SHOWN = 600

/**
 * Asks the person if the policy requires it: before an agent or a board is reached for the first time, and before a cost
 * exceeds a ceiling. An approval of an agent or a board is stored, so the person is asked only once.
 * @returns the budget before the action. @throws NeedsAnswer, ToolError as `Asker.confirm`.
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

/** Says how much of the content is not shown, and escapes invisible characters, so that the person is not misled. */
function contentOf(content: string): string {
  const { length } = [...content]
  const rest = length > SHOWN ? `, and ${length - SHOWN} more characters that are not shown here` : ''
  return ` Content: ${quoted(content, SHOWN)}${rest}`
}
