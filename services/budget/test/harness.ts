import { randomBytes } from 'node:crypto'
import { openDatabase } from '@svc/postgres/database.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { createTestDatabase } from '@svc/test/support/database.ts'
import type { Allowances } from '../src/domain/decide.ts'
import { getBudget } from '../src/handlers/get-budget.ts'
import { grantCredits } from '../src/handlers/grant-credits.ts'
import { listOverdue } from '../src/handlers/list-overdue.ts'
import { createRelease } from '../src/handlers/release.ts'
import { createReserve } from '../src/handlers/reserve.ts'
import { createSettle, createSettleSoon } from '../src/handlers/settle.ts'

export const ALLOWANCES: Allowances = { freeUnits: 100, hardLimit: 1000, introductions: 10 }

export type Harness = Awaited<ReturnType<typeof startHarness>>

/** The calls of the service on a database of the test's own, without NATS. */
export async function startHarness(allowances: Partial<Allowances> = {}) {
  await using started = new AsyncDisposableStack()
  const testDatabase = started.use(await createTestDatabase(['budget']))
  const logger = createLogger('test', 'silent')
  const database = started.use(openDatabase({ url: testDatabase.urlFor('budget'), application: 'test', logger }))
  const deps = { database, logger, allowances: { ...ALLOWANCES, ...allowances } }
  const reserve = createReserve(deps)
  const release = createRelease(deps)
  const settle = createSettle(deps)
  const settleSoon = createSettleSoon(deps)
  const running = started.move()
  return {
    database,
    deps,
    /** One attempt; without a name the operation is a new one. */
    reserve: ({
      operation = newOperation(),
      agent = 'agent',
      units = 1,
      peer = null,
      holdMs = 60_000,
    }: {
      operation?: string
      agent?: string
      units?: number
      peer?: string | null
      holdMs?: number
    }) =>
      reserve(
        { operation, owner: 'messaging', agent_id: agent, units, introduction_peer: peer, hold_ms: holdMs },
        { traceparent: newTraceparent(), deadlineMs: Date.now() + 5_000 },
      ),
    settle: (operation: string) => settle({ operation }),
    settleSoon: (...operations: string[]) => settleSoon({ operations }),
    release: (operation: string, deadlineMs: number) => release({ operation, deadline_ms: deadlineMs }),
    grant: (agent: string, units: number, reference: string) =>
      grantCredits(deps, { agent_id: agent, units, reference }),
    budget: (agent = 'agent') => getBudget(deps, { agent_id: agent }),
    overdue: (owner: 'messaging' | 'identity' = 'messaging', limit = 100) => listOverdue(deps, { owner, limit }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

export function newOperation(): string {
  return `messaging:${randomBytes(8).toString('hex')}`
}
