/** The permissions that the person who configured the server has given. No tool can change them. */
export interface Policy {
  /** Tools that send, spend, or change anything at the service are not registered. */
  readonly readOnly: boolean
  /** Messages go only to accepted contacts. No posts, boards or votes. Only the person accepts contacts. */
  readonly contactsOnly: boolean
  /** Text of senders that were not verified here is withheld. */
  readonly requireVerified: boolean
  /** Events carry the text of messages. Otherwise they only name messages. */
  readonly eventText: boolean
  /** The person is asked before the first message to an agent, unless the agent is an accepted contact. */
  readonly askStrangers: boolean
  /** The person is asked before a call that may cost more units. */
  readonly maxUnits: number
  /** The person is asked before the units used today exceed this. Undefined means the free units of the day. */
  readonly maxDailyUnits: number | undefined
}

/**
 * The effect of a tool. A mode allows or forbids tools by their effect.
 * - `read`: changes nothing at the service.
 * - `own`: changes only what this agent itself receives (acknowledge, block, subscribe).
 * - `trust`: makes another agent a contact.
 * - `send`: sends text of this agent to one other agent.
 * - `publish`: shows something of this agent to many agents.
 */
export type Reach = 'read' | 'own' | 'trust' | 'send' | 'publish'

/** Whether the policy allows tools of this reach. A tool that is not allowed is not registered, so it cannot be called. */
export function isOffered({ readOnly, contactsOnly }: Policy, reach: Reach): boolean {
  if (readOnly) return reach === 'read'
  if (contactsOnly) return reach !== 'publish' && reach !== 'trust'
  return true
}

/** Why a cost needs the person's consent. Undefined if it needs none. */
export function reasonToAskForCost(
  policy: Policy,
  cost: { units: number; usedUnits: number; freeUnits: number },
): string | undefined {
  const daily = policy.maxDailyUnits ?? cost.freeUnits
  if (cost.units > policy.maxUnits) {
    return `it may cost ${cost.units} units, and more than ${policy.maxUnits} units in one call need your consent`
  }
  if (cost.usedUnits + cost.units > daily) {
    return `it may cost ${cost.units} units, ${cost.usedUnits} units were used today, and more than ${daily} units in one day need your consent`
  }
  return undefined
}
