import { ServiceError } from '@svc/contracts/errors.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import { createBus } from '@svc/nats/bus.ts'
import { connectNats, drainNats } from '@svc/nats/connect.ts'
import { openDatabase } from '@svc/postgres/database.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { createCharging } from '../src/charging.ts'
import { createOperations } from '../src/operations.ts'
import { startOperationsPurge } from '../src/purge.ts'
import { startResolver } from '../src/resolver.ts'

export interface PlannedOperation {
  operation: string
  agentId: string
  peer: string | null
  /** The owner refuses this operation in its own transaction, after its cost was reserved. */
  refused: boolean
}

const HOLD_MS = 1_000
const CALL_MS = 800
const INTERVAL_MS = 100
const PATIENCE_MS = 40_000

interface OwnerSettings {
  natsUrl: string
  databaseUrl: string
  plan: readonly PlannedOperation[]
  /** Undefined: no purge. */
  purgeAfterMs?: number | undefined
}

/**
 * A minimal owner. It does the planned operations one after another, prints the outcome of each, then prints `idle`, and
 * from then on only resolves overdue operations. Its database is identity's; an effect is a row of `identity.effects`.
 */
export async function startOwner(settings: OwnerSettings, say: (line: string) => void): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack()
  const logger = createLogger('owner', 'silent')
  const database = stack.use(openDatabase({ url: settings.databaseUrl, application: 'owner', logger }))
  const nats = stack.adopt(await connectNats({ url: settings.natsUrl, name: 'owner', logger }), drainNats)
  const bus = stack.use(createBus(nats))
  const operations = createOperations({ database, schema: 'identity' })
  const deps = { owner: 'identity', bus, logger, fences: operations } as const
  const charging = createCharging({ ...deps, holdMs: HOLD_MS })
  for (const planned of settings.plan) say(`${planned.operation} ${await repeat(planned)}`)
  stack.use(startResolver({ ...deps, intervalMs: INTERVAL_MS }))
  const { purgeAfterMs: keptMs } = settings
  if (keptMs !== undefined) stack.use(startOperationsPurge({ ...deps, operations, intervalMs: INTERVAL_MS, keptMs }))
  say('idle')
  return stack.move()

  /**
   * Retries the operation while the answer is "unavailable", as clients do: that answer leaves open whether the operation
   * took effect.
   */
  async function repeat(planned: PlannedOperation): Promise<string> {
    const until = Date.now() + PATIENCE_MS
    for (;;) {
      const outcome = await attempt(planned)
      if (outcome !== 'unavailable' || Date.now() > until) return outcome
    }
  }

  async function attempt({ operation, agentId, peer, refused }: PlannedOperation): Promise<string> {
    const context = { traceparent: newTraceparent(), deadlineMs: Date.now() + CALL_MS }
    const cost = { operation, agentId, units: 1, introductionPeer: peer }
    try {
      return await charging.charge(cost, context, (reservation) =>
        database.transaction(async (tx) => {
          const outcome = await operations.commit(tx, reservation)
          if (refused) throw new ServiceError('forbidden')
          if (outcome === 'committed') await tx`insert into identity.effects (operation) values (${operation})`
          failpoint('owner.committing')
          return outcome
        }),
      )
    } catch (error) {
      if (error instanceof ServiceError) return error.code
      throw error
    }
  }
}
