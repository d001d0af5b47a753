import { randomBytes } from 'node:crypto'
import type { ChargeOwner } from '@svc/contracts/budget.ts'
import { openDatabase } from '@svc/postgres/database.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { createTestDatabase } from '@svc/test/support/engines/database.ts'
import type { Allowances } from '../src/domain/allowances.ts'
import { getBudget } from '../src/handlers/get-budget.ts'
import { grantCredits } from '../src/handlers/grant-credits.ts'
import { listOverdue } from '../src/handlers/list-overdue.ts'
import { createRelease } from '../src/handlers/release.ts'
import { createReserve } from '../src/handlers/reserve.ts'
import { createSettle, createSettleSoon } from '../src/handlers/settle.ts'

export const ALLOWANCES: Allowances = { freeUnits: 100, hardLimit: 1000, introductions: 10 }

export type Harness = Awaited<ReturnType<typeof startHarness>>
export type Calls = ReturnType<Harness['calls']>

export interface Attempt {
  /** Default: a new operation. */
  operation?: string
  agent?: string
  units?: number
  peer?: string | null
  holdMs?: number
  owner?: ChargeOwner
}

/** The calls of the service on a database of its own, without NATS. */
export async function startHarness() {
  await using started = new AsyncDisposableStack()
  const testDatabase = started.use(await createTestDatabase(['budget']))
  const logger = createLogger('test', 'silent')
  const database = started.use(openDatabase({ url: testDatabase.urlFor('budget'), application: 'test', logger }))
  const running = started.move()
  let made = 0
  return {
    database,
    /** Calls with new agents, so that tests which share a database do not collide. `agentId` is the stored id. */
    calls(allowances: Partial<Allowances> = {}) {
      made += 1
      const world = made
      const errors: unknown[] = []
      const logged = logger.child({})
      logged.error = (...entry: unknown[]) => void errors.push(entry)
      const deps = { database, logger: logged, allowances: { ...ALLOWANCES, ...allowances } }
      const [reserve, release, settle, settleSoon] = [
        createReserve(deps),
        createRelease(deps),
        createSettle(deps),
        createSettleSoon(deps),
      ]
      const agentId = (agent = 'agent'): string => `${world}-${agent}`
      const attemptTo = async (attempt: Attempt = {}, deadlineMs = Date.now() + 5_000) =>
        reserve(
          {
            operation: attempt.operation ?? newOperation(),
            owner: attempt.owner ?? 'messaging',
            agent_id: agentId(attempt.agent),
            units: attempt.units ?? 1,
            introduction_peer: attempt.peer ?? null,
            hold_ms: attempt.holdMs ?? 60_000,
          },
          { traceparent: newTraceparent(), deadlineMs },
        )
      return {
        agentId,
        /** The entries logged as errors. */
        errors,
        reserve: attemptTo,
        /** Reserves and settles. */
        spend: async (attempt: Attempt = {}) => {
          const operation = newOperation()
          await attemptTo({ operation, ...attempt })
          await settle({ operation })
        },
        settle: (operation: string) => settle({ operation }),
        settleSoon: (...operations: string[]) => settleSoon({ operations }),
        release: (operation: string, deadlineMs: number) => release({ operation, deadline_ms: deadlineMs }),
        grant: (agent: string, units: number, reference: string) =>
          grantCredits(
            deps,
            { agent_id: agentId(agent), units, reference: `${world}-${reference}`, reason: `grant to ${agent}` },
            { operator: 'ann' },
          ),
        budget: (agent?: string) => getBudget(deps, { agent_id: agentId(agent) }),
        overdue: async (owner: ChargeOwner, limit = 100) => (await listOverdue(deps, { owner, limit })).reservations,
      }
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

export function newOperation(): string {
  return `messaging:${randomBytes(8).toString('hex')}`
}
