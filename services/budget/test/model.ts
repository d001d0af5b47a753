/** A model of the budget without a database. It is slow and plain; tests compare the SQL with it. */
import type { Allowances } from '../src/domain/allowances.ts'
import { DAY_MS } from '../src/domain/day.ts'
import type { Refusal } from '../src/domain/refusal-codes.ts'
import { decide } from './decide.ts'

export interface Cost {
  operation: string
  agent: string
  units: number
  peer: string | null
}

interface Reservation extends Cost {
  state: 'held' | 'settled' | 'released'
  deadlineMs: number
  day: number
  credits: number
}

interface Day {
  units: number
  credits: number
  introductions: number
}

/** A pair exists while pending operations hold it, or for ever once one of them was settled. */
interface Pair {
  day: number
  settled: boolean
  holders: Set<string>
}

export class Model {
  readonly reservations = new Map<string, Reservation>()
  readonly #allowances: Allowances
  readonly #balances = new Map<string, number>()
  readonly #grants = new Map<string, { agent: string; units: number }>()
  readonly #days = new Map<string, Day>()
  readonly #lastDay = new Map<string, number>()
  readonly #pairs = new Map<string, Pair>()

  constructor(allowances: Allowances) {
    this.#allowances = allowances
  }

  reserve(
    cost: Cost,
    holdMs: number,
    nowMs: number,
  ): { outcome: Reservation['state'] | 'taken' | 'other_price' | Refusal; deadlineMs: number } {
    const earlier = this.reservations.get(cost.operation)
    const day = this.#dayAt(cost.agent, nowMs)
    const deadlineMs = Math.max(nowMs + holdMs, (earlier?.deadlineMs ?? 0) + 1)
    if (earlier?.state === 'settled') return { outcome: 'settled', deadlineMs: earlier.deadlineMs }
    if (earlier?.state === 'held') {
      if (earlier.units !== cost.units) return { outcome: 'other_price', deadlineMs: earlier.deadlineMs }
      earlier.deadlineMs = deadlineMs
      return { outcome: 'held', deadlineMs }
    }
    const pairKey = cost.peer === null ? undefined : `${cost.agent} ${cost.peer}`
    const pair = pairKey === undefined ? undefined : this.#pairs.get(pairKey)
    const introduces = pairKey !== undefined && pair === undefined
    const used = this.dayOf(cost.agent, day)
    const decision = decide(
      {
        usedUnits: used.units,
        creditsDrawn: used.credits,
        creditBalance: this.balanceOf(cost.agent),
        usedIntroductions: used.introductions,
      },
      { units: cost.units, introduces },
      this.#allowances,
    )
    if (typeof decision === 'string') return { outcome: decision, deadlineMs }
    const { credits } = decision
    this.reservations.set(cost.operation, { ...cost, state: 'held', deadlineMs, day, credits })
    this.#count(cost.agent, day, { units: cost.units, credits, introductions: introduces ? 1 : 0 })
    if (introduces) this.#pairs.set(pairKey, { day, settled: false, holders: new Set([cost.operation]) })
    else if (pair?.settled === false) pair.holders.add(cost.operation)
    return { outcome: 'taken', deadlineMs }
  }

  settle(operation: string): void {
    const reservation = this.reservations.get(operation)
    if (reservation?.state !== 'held') return
    reservation.state = 'settled'
    const pair = this.#pairs.get(`${reservation.agent} ${reservation.peer}`)
    if (pair?.holders.has(operation)) pair.settled = true
  }

  release(operation: string, deadlineMs: number): void {
    const reservation = this.reservations.get(operation)
    if (reservation?.state !== 'held' || reservation.deadlineMs > deadlineMs) return
    reservation.state = 'released'
    const { agent, peer, day, units, credits } = reservation
    this.#count(agent, day, { units: -units, credits: -credits, introductions: 0 })
    const pair = this.#pairs.get(`${agent} ${peer}`)
    if (pair === undefined || pair.settled || !pair.holders.delete(operation) || pair.holders.size > 0) return
    this.#pairs.delete(`${agent} ${peer}`)
    this.#count(agent, pair.day, { units: 0, credits: 0, introductions: -1 })
  }

  grant(agent: string, units: number, reference: string): 'granted' | 'repeated' | 'differs' {
    const earlier = this.#grants.get(reference)
    if (earlier !== undefined) return earlier.agent === agent && earlier.units === units ? 'repeated' : 'differs'
    this.#grants.set(reference, { agent, units })
    this.#balances.set(agent, this.balanceOf(agent) + units)
    return 'granted'
  }

  balanceOf(agent: string): number {
    return this.#balances.get(agent) ?? 0
  }

  dayOf(agent: string, day: number): Day {
    return this.#days.get(`${agent} ${day}`) ?? { units: 0, credits: 0, introductions: 0 }
  }

  /** The usage on every day with charges, by `<agent> <day>`. */
  get days(): ReadonlyMap<string, Day> {
    return this.#days
  }

  /** If the clock is set back, an agent's day does not go back. */
  #dayAt(agent: string, nowMs: number): number {
    const day = Math.max(Math.floor(nowMs / DAY_MS), this.#lastDay.get(agent) ?? 0)
    this.#lastDay.set(agent, day)
    return day
  }

  #count(agent: string, day: number, { units, credits, introductions }: Day): void {
    const before = this.dayOf(agent, day)
    this.#balances.set(agent, this.balanceOf(agent) - credits)
    this.#days.set(`${agent} ${day}`, {
      units: before.units + units,
      credits: before.credits + credits,
      introductions: before.introductions + introductions,
    })
  }
}
