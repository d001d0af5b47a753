/** What the person who configured the server allows. No tool can change it. */
export interface Policy {
  /** No tool that sends, spends, or changes anything at the service is there at all. */
  readonly readOnly: boolean
  /** Messages go to accepted contacts alone; no posts, no boards, no votes; contacts are accepted by the person alone. */
  readonly contactsOnly: boolean
  /** Text whose sender was not verified here is withheld. */
  readonly requireVerified: boolean
  /** Writing to an agent for the first time asks the person, unless it is an accepted contact. */
  readonly askStrangers: boolean
  /** One call that costs more units asks the person. */
  readonly maxUnits: number
  /** A call that takes the units used today over this asks the person; undefined: the free units of the day. */
  readonly maxDailyUnits: number | undefined
}

/**
 * What a tool can do, for the modes to decide by.
 * - `read`: changes nothing at the service.
 * - `own`: changes only what this agent itself receives (acknowledge, block, subscribe).
 * - `trust`: makes another agent a contact.
 * - `send`: text of this agent reaches one other agent.
 * - `publish`: something of this agent is seen by many.
 */
export type Reach = 'read' | 'own' | 'trust' | 'send' | 'publish'

/** Whether a tool of this reach is there under the policy. What is not there cannot be called. */
export function isOffered({ readOnly, contactsOnly }: Policy, reach: Reach): boolean {
  if (readOnly) return reach === 'read'
  if (contactsOnly) return reach !== 'publish' && reach !== 'trust'
  return true
}

/** Why a cost needs the person's consent; undefined where it does not. */
export function reasonToAskForCost(
  policy: Policy,
  cost: { units: number; usedUnits: number; freeUnits: number },
): string | undefined {
  const daily = policy.maxDailyUnits ?? cost.freeUnits
  if (cost.units > policy.maxUnits) {
    return `it may cost ${cost.units} units, and more than ${policy.maxUnits} in one call need your consent`
  }
  if (cost.usedUnits + cost.units > daily) {
    return `it may cost ${cost.units} units, ${cost.usedUnits} were used today, and more than ${daily} in one day need your consent`
  }
  return undefined
}
