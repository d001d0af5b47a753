/**
 * Owns units, credits, introductions and reservations (schema `budget`).
 * Scale: any number of processes. They share calls by queue group, and keep nothing between calls. The lock of an agent's
 * account orders its charges.
 * Limit: one Postgres primary. An agent is the unit of sharding, and is charged in one batch at a time. Keep pool size x
 * processes under max_connections.
 */

import { auditEndpoint, eraseEndpoint } from '@svc/audit/audit.ts'
import * as adminCalls from '@svc/contracts/admin.ts'
import * as calls from '@svc/contracts/budget.ts'
import { handle } from '@svc/nats/serve.ts'
import type { RunningService } from '@svc/service/run-service.ts'
import { startService } from '@svc/service/start-service.ts'
import type { BudgetConfig } from './config.ts'
import { judgeCharges, listCharges, sumCharges, verifyAccounts } from './handlers/books.ts'
import { getBudget } from './handlers/get-budget.ts'
import { grantCredits } from './handlers/grant-credits.ts'
import { listOverdue } from './handlers/list-overdue.ts'
import { createRelease } from './handlers/release.ts'
import { createReserve } from './handlers/reserve.ts'
import { createSettle, createSettleSoon } from './handlers/settle.ts'
import { startPurgeReservations } from './loops/purge-reservations.ts'
import { eraseAgent } from './store/erase.ts'

export function startBudget(config: BudgetConfig): Promise<RunningService> {
  return startService({
    name: 'budget',
    config,
    schemaDir: new URL('../database/', import.meta.url),
    build({ logger, database }) {
      const deps = { database, logger, allowances: config.allowances }
      return {
        endpoints: [
          handle(calls.reserve, createReserve(deps)),
          handle(calls.settle, createSettle(deps)),
          handle(calls.settleSoon, createSettleSoon(deps)),
          handle(calls.release, createRelease(deps)),
          handle(calls.listOverdue, (request) => listOverdue(deps, request)),
          handle(calls.getBudget, (request) => getBudget(deps, request)),
          handle(calls.grantCredits, (request, context) => grantCredits(deps, request, context)),
          handle(adminCalls.verifyAccounts, (request) => verifyAccounts(deps, request)),
          handle(adminCalls.sumCharges, (request) => sumCharges(deps, request)),
          handle(adminCalls.listCharges, (request) => listCharges(deps, request)),
          handle(adminCalls.judgeCharges, (request) => judgeCharges(deps, request)),
          auditEndpoint('budget', database),
          eraseEndpoint('budget', database, eraseAgent),
        ],
        loops: [startPurgeReservations(deps)],
      }
    },
  })
}
