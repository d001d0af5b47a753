import { askedBy } from '@svc/contracts/admin.ts'
import { grantCredits } from '@svc/contracts/budget.ts'
import { type Bus, createBus } from '@svc/nats/bus.ts'
import { connectNats, drainNats } from '@svc/nats/connect.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import type { TestSystem } from './system.ts'

/** Acts as the operator with its own NATS user, like `svc admin grant` (spec 11.4). */
export interface Operator extends AsyncDisposable {
  /** @throws ServiceError `id_conflict` if the reference was used with other values. */
  grant(agentId: string, units: number, reference: string): Promise<{ granted: boolean; credit_balance: number }>
}

const CALL_TIMEOUT_MS = 30_000

export async function startOperator(system: { readonly nats: Pick<TestSystem['nats'], 'urlFor'> }): Promise<Operator> {
  const logger = createLogger('test', 'silent')
  const nats = await connectNats({ url: system.nats.urlFor('admin'), name: 'test-operator', logger, asOperator: true })
  const bus: Bus & Disposable = createBus(nats)
  return {
    grant(agentId, units, reference) {
      const context = { traceparent: newTraceparent(), deadlineMs: Date.now() + CALL_TIMEOUT_MS }
      const grant = { agent_id: agentId, units, reference, reason: 'a test needs credits' }
      return bus.call(askedBy('admin', grantCredits), grant, context)
    },
    async [Symbol.asyncDispose]() {
      bus[Symbol.dispose]()
      await drainNats(nats)
    },
  }
}
