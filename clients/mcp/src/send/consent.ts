import type { Budget } from '@svc/contracts/resources.ts'
import type { Mailbox } from '../mailbox.ts'
import { quoted } from '../output/fence.ts'
import { ToolError } from '../output/tool-error.ts'
import { reasonToAskForCost } from '../policy.ts'
import type { Asker } from './asker.ts'

interface Intent {
  /** The action in words for the person, e.g. `send a message to "bob"`. The model does not see it. */
  readonly what: string
  /**
   * The agent or board that the action reaches, and why this needs consent, without text of others. Its id is undefined if an
   * approval cannot be stored. Undefined if the action reaches nobody, or only an accepted contact.
   */
  readonly reaches: { readonly id: string | undefined; readonly why: string } | undefined
  /** The most units that the action may cost. */
  readonly units: number
  /** The least that it costs. Default `units`. */
  readonly leastUnits?: number
  /** Equal only for the same action with the same content. */
  readonly fingerprint: string
  /** The content that is sent, for the person to read. Never logged. */
  readonly content?: string
  /** Throws if the service would refuse the action. Runs only before the person is asked. */
  readonly check?: () => Promise<void>
}

/** A question shows at most this many characters of the content. */
const SHOWN = 600

/**
 * Asks the person if the policy requires it: before an agent or a board is reached for the first time, and before a cost
 * exceeds a ceiling. An approval of an agent or a board is stored, so the person is asked only once.
 * @returns the budget before the action. @throws NeedsAnswer, ToolError as `Asker.confirm`.
 */
export async function obtainConsent(
  { client, policy, approvals, name }: Mailbox,
  intent: Intent,
  asker: Asker,
  signal: AbortSignal,
): Promise<Budget> {
  const budget = await client.budget({ signal })
  const reasons = []
  const isApproved = (id: string | undefined): boolean => id !== undefined && approvals.has(id)
  const { reaches, units, leastUnits = units } = intent
  const isNew = reaches !== undefined && policy.askStrangers && !isApproved(reaches.id)
  if (isNew) reasons.push(reaches.why)
  if (units > 0) {
    const cost = { units, usedUnits: budget.used_units, freeUnits: budget.daily_free_units }
    const reason = reasonToAskForCost(policy, cost)
    if (reason !== undefined) reasons.push(reason)
  }
  if (reasons.length === 0) return budget
  await intent.check?.()
  checkBudget(budget, leastUnits)
  const content = intent.content === undefined ? '' : contentOf(intent.content)
  const why = reasons.join('; ')
  // The person may have several agents in one client.
  await asker.confirm({
    why,
    text: `The agent ${name ?? ''} wants to ${intent.what}: ${why}.${content}`,
    fingerprint: intent.fingerprint,
  })
  if (isNew && reaches.id !== undefined) approvals.add(reaches.id)
  return budget
}

/** The refusals of spec 11.3. @throws ToolError `hard_limit_reached`, `budget_exhausted`. */
function checkBudget(budget: Budget, units: number): void {
  const { used_units: used, daily_hard_limit: ceiling, daily_free_units: free, credit_balance: credits } = budget
  if (used + units > ceiling) {
    throw new ToolError(
      'hard_limit_reached',
      `the cost exceeds the ${Math.max(0, ceiling - used)} units that are left today. ${NOTHING}`,
    )
  }
  if (units > Math.max(0, free - used) + credits) {
    throw new ToolError('budget_exhausted', `free units and credits do not cover the cost of ${units}. ${NOTHING}`)
  }
}

const NOTHING = 'Nothing was sent. The tool budget says when units are renewed.'

/** Says how much of the content is not shown, and escapes invisible characters, so that the person is not misled. */
function contentOf(content: string): string {
  const { length } = [...content]
  const rest = length > SHOWN ? `, and ${length - SHOWN} more characters that are not shown here` : ''
  return ` Content: ${quoted(content, SHOWN)}${rest}`
}
