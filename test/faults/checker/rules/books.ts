/**
 * Checks the accounts of every agent and UTC day. Used units must equal the cost of the accepted operations, credits must
 * equal the grants less the credits used, and introductions must equal first contacts. Compares each schema with the
 * requests that were sent. Source: spec 8.8, 11.2, 11.3, 11.4, 11.5.
 */
import type { Grant } from '../../history/history.ts'
import type { Final, StoredCharge } from '../final.ts'
import type { SentId } from '../sends.ts'
import type { Violation } from '../violation.ts'

export interface BookLimits {
  readonly freeUnits: number
  readonly hardLimit: number
  readonly introductions: number
}

const MESSAGE = /^messaging:message:([A-Za-z0-9_-]+):[0-9a-f]{64}$/
const BYTES_PER_UNIT = 1_024
const BOARD_UNITS = 10

export function checkBooks(
  sends: ReadonlyMap<string, SentId>,
  grants: readonly Grant[],
  final: Final,
  limits: BookLimits,
): Violation[] {
  const violations: Violation[] = []
  const say = (rule: string, text: string): void => void violations.push({ rule, text })
  const nameOf = new Map(final.agents.map(({ id, name }) => [id, name]))
  const taken = final.charges.filter(({ state }) => state !== 'released')

  checkEffects()
  checkUnits()
  checkDays()
  checkCredits()
  checkIntroductions()
  return violations

  /** There is no charge without its effect, and no effect without its charge. */
  function checkEffects(): void {
    const committed = new Set(final.committed)
    const stored = new Map(final.messages.map((message) => [message.id, message]))
    const charged = new Map<string, StoredCharge[]>()
    for (const charge of taken) {
      if (charge.state === 'held') say('books: nothing is held for ever', `${charge.operation} is held`)
      const [, id] = MESSAGE.exec(charge.operation) ?? []
      if (id === undefined) {
        if (!committed.has(charge.operation)) say('books: no charge without its effect', charge.operation)
        continue
      }
      charged.set(id, [...(charged.get(id) ?? []), charge])
      if (stored.get(id)?.sender !== charge.agent_id) {
        say('books: no charge without its effect', `${charge.operation} was charged to ${nameOf.get(charge.agent_id)}`)
      }
    }
    for (const { id } of final.messages) {
      const count = charged.get(id)?.length ?? 0
      if (count !== 1) say('books: each message is charged once', `${id} was charged ${count} times`)
    }
    const operations = new Set(taken.map(({ operation }) => operation))
    const mine = new Set(final.charges.map(({ operation }) => operation))
    for (const operation of committed) {
      if (mine.has(operation) && !operations.has(operation)) say('books: no effect without its charge', operation)
    }
  }

  /** The expected amount of each charge. */
  function checkUnits(): void {
    const entries = Map.groupBy(final.entries, ({ message }) => message)
    const stored = new Map(final.messages.map((message) => [message.id, message]))
    for (const { operation, units } of taken) {
      const [, id = ''] = MESSAGE.exec(operation) ?? []
      const sent = sends.get(id)?.accepted
      if (id === '') {
        const expected = operation.startsWith('boards:') ? [1, BOARD_UNITS] : [1]
        if (!expected.includes(units)) say('books: units', `${operation} took ${units}`)
        continue
      }
      if (sent === undefined || stored.get(id)?.purged) continue
      const perRecipient = Math.ceil(sent.bytes / BYTES_PER_UNIT)
      const recipients = sent.isPost ? Math.max(1, entries.get(id)?.length ?? 0) : 1
      const expected = Math.max(1, perRecipient * recipients)
      if (units !== expected)
        say('books: units', `${id}, ${sent.bytes} bytes to ${recipients}, cost ${units} instead of ${expected}`)
    }
    const boards = Map.groupBy(final.owned, ({ owner }) => owner)
    const tens = Map.groupBy(
      taken.filter(({ operation, units }) => operation.startsWith('boards:') && units === BOARD_UNITS),
      ({ agent_id }) => agent_id,
    )
    for (const { id, name } of final.agents) {
      const [owned, paid] = [boards.get(id)?.length ?? 0, tens.get(id)?.length ?? 0]
      if (owned !== paid) say('books: boards', `${name} owns ${owned} boards, but has paid for ${paid}`)
      if (owned > 20) say('limits: boards per owner', `${name} owns ${owned}`)
    }
  }

  function checkDays(): void {
    const settled = Map.groupBy(taken, ({ agent_id, day }) => `${agent_id} ${day}`)
    for (const { agent_id, day, used, drawn, introductions } of final.days) {
      const charges = settled.get(`${agent_id} ${day}`) ?? []
      const units = charges.reduce((sum, charge) => sum + charge.units, 0)
      const credits = charges.reduce((sum, charge) => sum + charge.credits, 0)
      const name = nameOf.get(agent_id)
      if (used !== units) say('books: units used', `${name} has used ${used} on ${day}, but its charges are ${units}`)
      if (drawn !== credits)
        say('books: credits drawn', `${name} has drawn ${drawn} credits on ${day}, but its charges say ${credits}`)
      if (used > limits.hardLimit) say('limits: the ceiling', `${name} has used ${used} units on ${day}`)
      if (used - drawn > limits.freeUnits)
        say('limits: free units', `${name} has used ${used - drawn} free units on ${day}`)
      if (introductions > limits.introductions)
        say('limits: introductions', `${name} has made ${introductions} introductions on ${day}`)
    }
    for (const { id, name, budget, revoked } of final.agents) {
      if (revoked) continue
      const days = final.days.filter(({ agent_id }) => agent_id === id)
      const today = days.toSorted((a, b) => (a.day < b.day ? 1 : -1))[0]
      // Just after midnight, an account may still show the previous day.
      const isToday = today?.day === new Date().toISOString().slice(0, 10)
      if (isToday && (budget.used !== today.used || budget.introductions !== today.introductions)) {
        say('books: the API agrees', `${name} is shown ${JSON.stringify(budget)}, but has ${JSON.stringify(today)}`)
      }
    }
  }

  function checkCredits(): void {
    const given = Map.groupBy(grants, ({ agent }) => agent)
    for (const { agent_id, credits, granted } of final.accounts) {
      const certain = (given.get(agent_id) ?? []).reduce((sum, { units }) => sum + units, 0)
      const drawn = final.days.filter((day) => day.agent_id === agent_id).reduce((sum, day) => sum + day.drawn, 0)
      const name = nameOf.get(agent_id)
      if (granted !== certain) say('books: grants', `${name} was granted ${certain}, but ${granted} are recorded`)
      if (credits !== granted - drawn)
        say('books: credits', `${name} has ${credits} credits; it should have ${granted} less ${drawn}`)
      const told = final.agents.find(({ id }) => id === agent_id)
      if (told !== undefined && !told.revoked && told.budget.credits !== credits) {
        say('books: the API agrees', `${name} is shown ${told.budget.credits} credits, but has ${credits}`)
      }
    }
  }

  /** The first accepted DM introduces a pair for ever, and counts once. */
  function checkIntroductions(): void {
    const pairs = new Set<string>()
    for (const message of final.messages) {
      const to = sends.get(message.id)?.accepted?.to ?? message.recipient
      if (message.lane !== 'board' && to !== null && to !== message.sender) pairs.add(`${message.sender} ${to}`)
    }
    const recorded = new Map(final.introductions.map((row) => [`${row.agent_id} ${row.peer}`, row]))
    for (const pair of pairs) if (!recorded.has(pair)) say('books: introductions', `${pair} is not counted`)
    for (const [pair, { settled }] of recorded) {
      if (!pairs.has(pair))
        say('books: introductions', `${pair} counts as introduced, but no first message was accepted`)
      else if (!settled) say('books: introductions', `${pair} is not settled`)
    }
    for (const { agent_id, day, introductions } of final.days) {
      const counted = final.introductions.filter((row) => row.agent_id === agent_id && row.day === day).length
      if (counted !== introductions) {
        say(
          'books: introductions',
          `${nameOf.get(agent_id)} has ${introductions} introductions on ${day}, but ${counted} pairs`,
        )
      }
    }
  }
}
