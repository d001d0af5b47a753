import type { Attempt } from '../history/attempts.ts'
import type { Grant } from '../history/history.ts'
import type { Purse } from '../model/answers.ts'
import { NO, trilean } from '../model/possible.ts'
import { LATE_MS } from '../model/register.ts'
import type { BookLimits } from './rules/books.ts'
import type { World } from './world.ts'

const BYTES_PER_UNIT = 1_024
const BOARD_UNITS = 10

/** The cost of an attempt, if it takes effect. */
interface Price {
  readonly least: number
  readonly most: number
  /** The agent to whom the attempt introduces the sender. */
  readonly peer: string | null
}

/** A charge that happened, or may have happened. */
interface Taking extends Price {
  /** Attempts with the same key are charged once. */
  readonly key: string
  readonly startMs: number
  /** The attempt took effect before this time. Infinite if it is unknown whether it did. */
  doneMs: number
  /** From this time on the attempt certainly holds no units. Infinite if it took effect, or may have. */
  readonly goneMs: number
  /**
   * Whether this attempt itself was charged: it got a 202. After a 200, the charge may belong to an earlier attempt with
   * another price.
   */
  readonly tookItself: boolean
}

export interface Purses {
  priceOf(attempt: Attempt): Price
  /** The possible purses of an agent while its attempt was under way. */
  possible(attempt: Attempt): { readonly [Name in keyof Purse]: readonly boolean[] }
  /** The units that an agent may have used at some moment between the two times. */
  used(agent: string, fromMs: number, untilMs: number): { least: number; most: number }
}

/** The amounts that each agent may have spent at any moment, according to its answers. Source: spec 11.3, 11.5. */
export function pursesOf(world: World, grants: readonly Grant[], limits: BookLimits): Purses {
  const takings = new Map<string, Taking[]>()
  for (const attempt of world.attempts) {
    const price = priceOf(attempt)
    if (price.most === 0) continue
    const { actor, startMs, endMs, status, unknown } = attempt
    const isDone = status !== null && status < 300
    const taking = {
      ...price,
      key: keyOf(attempt),
      startMs,
      doneMs: isDone ? endMs : Number.POSITIVE_INFINITY,
      // a refused attempt gave its units back; if that failed, the resolver did it
      goneMs: isDone || unknown ? Number.POSITIVE_INFINITY : endMs + LATE_MS,
      tookItself: status === 202,
    }
    takings.set(actor, [...(takings.get(actor) ?? []), taking])
  }

  return {
    priceOf,
    possible(attempt) {
      const { actor, startMs, endMs } = attempt
      const { least, most, peer } = priceOf(attempt)
      if (most === 0) return { introductionsUsedUp: NO, ceilingReached: NO, unitsUsedUp: NO }
      const key = keyOf(attempt)
      const others = (takings.get(actor) ?? []).filter((taking) => taking.key !== key)
      const used = sumOf(others, startMs, endMs)
      const met = peersOf(others, startMs, endMs)
      const credits = creditsOf(grants, actor)
      // allowances are reset at midnight UTC
      const known = isOneDay(takings.get(actor) ?? [], endMs)
      const isNew = trilean(!met.most.has(peer ?? ''), !met.least.has(peer ?? ''))
      const besides = (peers: ReadonlySet<string>): number => peers.size - Number(peers.has(peer ?? ''))
      return {
        introductionsUsedUp:
          peer === null
            ? NO
            : trilean(
                known && isNew.every(Boolean) && besides(met.least) >= limits.introductions,
                isNew.some(Boolean) && besides(met.most) >= limits.introductions,
              ),
        ceilingReached: trilean(known && used.least + least > limits.hardLimit, used.most + most > limits.hardLimit),
        unitsUsedUp: trilean(
          known && used.least + least > limits.freeUnits + credits,
          used.most + most > limits.freeUnits + credits,
        ),
      }
    },
    used: (agent, fromMs, untilMs) => sumOf(takings.get(agent) ?? [], fromMs, untilMs),
  }

  function priceOf(attempt: Attempt): Price {
    const { call, actor, startMs, endMs } = attempt
    if (call.kind === 'send') {
      const { sent } = call
      const perRecipient = Math.ceil(sent.bytes / BYTES_PER_UNIT)
      if (!sent.isPost) {
        const units = Math.max(1, perRecipient)
        return { least: units, most: units, peer: sent.to === actor ? null : sent.to }
      }
      // it is unknown when an unanswered attempt read the subscribers
      const untilMs = attempt.unknown ? startMs + LATE_MS : endMs
      const { least, most } = world.subscribers(sent.to ?? '', actor, startMs, untilMs)
      const costOf = (recipients: number): number => Math.max(1, perRecipient * Math.max(1, recipients))
      return { least: costOf(least), most: costOf(most), peer: null }
    }
    return { least: 0, most: mostOf(call), peer: null }
  }
}

/** The most that a call can cost. This function does not know whether there was anything to change; the check of the books does. */
function mostOf(call: Attempt['call']): number {
  switch (call.kind) {
    case 'create-board':
      return BOARD_UNITS
    case 'patch':
      return call.policy === 'closed' && call.discoverable === undefined ? 0 : 1
    case 'contact':
      return Number(call.state === 'accepted')
    case 'role':
      return Number(call.role === 'reader' || call.role === 'writer')
    case 'vote':
      return Number(call.voted)
    case 'set-webhook':
      return 1
    default:
      return 0
  }
}

function keyOf({ call, n }: Attempt): string {
  return call.kind === 'send' ? `message ${call.sent.id} ${call.sent.digest}` : `attempt ${n}`
}

function sumOf(takings: readonly Taking[], fromMs: number, untilMs: number): { least: number; most: number } {
  let [least, most] = [0, 0]
  for (const same of Map.groupBy(takings, ({ key }) => key).values()) {
    if (same.some(({ doneMs }) => doneMs <= fromMs)) least += Math.min(...payersOf(same).map((taking) => taking.least))
    const begun = same.filter(({ startMs, goneMs }) => startMs <= untilMs && goneMs >= fromMs)
    if (begun.length > 0) most += Math.max(...begun.map((taking) => taking.most))
  }
  return { least, most }
}

/** Of the attempts at one effect, returns those that may have been charged. The price is that of the charged attempt (spec 7.4, 8.8). */
function payersOf(same: readonly Taking[]): readonly Taking[] {
  const known = same.filter(({ tookItself }) => tookItself)
  if (known.length > 0) return known
  const doneMs = Math.min(...same.map((taking) => taking.doneMs))
  return same.filter(({ startMs, goneMs }) => startMs <= doneMs && goneMs === Number.POSITIVE_INFINITY)
}

function peersOf(
  takings: readonly Taking[],
  fromMs: number,
  untilMs: number,
): { least: Set<string>; most: Set<string> } {
  const peers = (fitting: readonly Taking[]): Set<string> =>
    new Set(fitting.flatMap(({ peer }) => (peer === null ? [] : [peer])))
  return {
    least: peers(takings.filter(({ doneMs }) => doneMs <= fromMs)),
    most: peers(takings.filter(({ startMs, goneMs }) => startMs <= untilMs && goneMs >= fromMs)),
  }
}

function creditsOf(grants: readonly Grant[], agent: string): number {
  return grants.filter((grant) => grant.agent === agent).reduce((sum, { units }) => sum + units, 0)
}

function isOneDay(takings: readonly Taking[], untilMs: number): boolean {
  const firstMs = Math.min(...takings.map(({ startMs }) => startMs))
  return dayOf(firstMs) === dayOf(untilMs)
}

function dayOf(ms: number): number {
  return Math.floor(ms / 86_400_000)
}
