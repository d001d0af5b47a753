/** The server suite: which cases there are, which of them this run can do, and how each ends. */
import type { Case, Need, World } from '../cases/case.ts'
import { NEEDS } from '../cases/case.ts'
import { loadCases } from '../cases/load.ts'
import { CODE_CASES } from '../code/all.ts'
import { Agent, anonymous } from '../http/agent.ts'
import type { Observe } from '../http/exchange.ts'
import type { Server } from '../http/server.ts'
import { findFolder } from '../report/rules.ts'
import type { CaseResult, Exchange } from '../result.ts'
import type { Operator } from './operator.ts'
import type { Receiver } from './receiver.ts'

/** What the user of the runner set. */
export interface Setting {
  readonly server: Server
  readonly operator?: Operator | undefined
  readonly receiver?: Receiver | undefined
  readonly retentionSeconds?: number | undefined
  /** Whether the attempts of a webhook delivery follow each other within a second. */
  readonly shortBackoff?: boolean
  /** Whether the runner may exhaust the request rates. */
  readonly rates?: boolean
}

/** A report shows the exchanges that led to a failure, not hundreds of them. */
const MAX_EXCHANGES = 30

/** Every case of the suite, in the order of its groups. */
export function allCases(folder = findFolder('cases')): Case[] {
  return [...loadCases(folder), ...CODE_CASES].sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** @returns why the setting cannot run the case; undefined if it can. */
export function whyNot({ needs }: Case, setting: Setting): string | undefined {
  const missing = needs.filter((need) => !has(need, setting))
  return missing.length === 0 ? undefined : `needs ${missing.map((need) => NEEDS[need]).join('; and ')}`
}

function has(
  need: Need,
  { server, operator, receiver, retentionSeconds, shortBackoff = false, rates = false }: Setting,
): boolean {
  const { daily_free_units = 0, daily_hard_limit = 0, daily_introductions = 0, stream_seconds = 0 } = server.limits
  switch (need) {
    case 'gateways':
      return server.urls.length > 1
    case 'operator':
      return operator !== undefined
    case 'receiver':
      return receiver !== undefined
    case 'small budget':
      return daily_free_units === 10 && daily_hard_limit === 20 && daily_introductions === 5
    case 'large budget':
      return daily_free_units >= 10_000 && daily_introductions >= 500
    case 'short retention':
      return retentionSeconds !== undefined && retentionSeconds <= 30
    case 'short streams':
      return stream_seconds <= 15
    case 'short backoff':
      return shortBackoff
    case 'default rates':
      return rates
  }
}

/** Runs one case. Never throws: a case that breaks is a failure with its reason. */
export async function runCase(one: Case, setting: Setting): Promise<CaseResult> {
  const { id, title, spec } = one
  const reason = whyNot(one, setting)
  if (reason !== undefined) return { id, title, spec, status: 'skipped', reason, exchanges: [], milliseconds: 0 }
  const exchanges: Exchange[] = []
  const startMs = performance.now()
  const cleanups: (() => void)[] = []
  const end = (status: 'passed' | 'failed', why?: string): CaseResult => ({
    ...{ id, title, spec, status, exchanges },
    reason: why,
    milliseconds: Math.round(performance.now() - startMs),
  })
  try {
    const observe: Observe = (exchange) => {
      exchanges.push(exchange)
      if (exchanges.length > MAX_EXCHANGES) exchanges.shift()
    }
    await one.run(worldOf(setting, observe, (cleanup) => void cleanups.push(cleanup)))
    return end('passed')
  } catch (error) {
    return end('failed', error instanceof Error ? error.message : String(error))
  } finally {
    for (const cleanup of cleanups) cleanup()
  }
}

function worldOf(
  { server, operator, receiver, retentionSeconds }: Setting,
  observe: Observe,
  atEnd: World['atEnd'],
): World {
  const missing = (what: string) =>
    new Proxy(
      {},
      {
        get: () => {
          throw new Error(`the case uses the ${what}, but does not say that it needs one`)
        },
      },
    )
  const newAgent = (): Agent => {
    const agent = new Agent(server)
    agent.observe = observe
    return agent
  }
  return {
    server,
    observe,
    atEnd,
    agent: () => newAgent().register(),
    stranger: newAgent,
    anonymous: anonymous(server),
    operator: operator ?? (missing('operator') as Operator),
    receiver: receiver ?? (missing('receiver') as Receiver),
    retentionSeconds: retentionSeconds ?? 0,
  }
}

/**
 * Runs cases side by side, and then those that exhaust the request rates, one after the other, because they need every request of the
 * address. @returns the results in the order of the cases.
 */
export async function runCases(
  cases: readonly Case[],
  setting: Setting,
  { atOnce, onResult = () => {} }: { atOnce: number; onResult?: (result: CaseResult) => void },
): Promise<CaseResult[]> {
  const results: CaseResult[] = []
  const [alone, together] = [true, false].map((isAlone) =>
    [...cases.entries()].filter(([, { needs }]) => needs.includes('default rates') === isAlone),
  )
  const work = async (waiting: [number, Case][] = []): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [at, one] = next
      const result = await runCase(one, setting)
      results[at] = result
      onResult(result)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, () => work(together)))
  await work(alone)
  return results
}
