import { askedFor, recordAudit } from '@svc/audit/audit.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type {
  cancelErasure as cancelErasureCall,
  demandErasure as demandErasureCall,
  ErasureState,
  listErasures as listErasuresCall,
} from '@svc/contracts/erasure.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Database, Tx } from '@svc/postgres/database.ts'
import type { IdentityDeps } from '../deps.ts'
import * as erasures from '../store/erasures.ts'
import { lockSuspension, writeSuspension } from '../store/suspensions.ts'

type Deps = Pick<IdentityDeps, 'database'>
type Context = Pick<CallContext, 'operator'>

/** Suspends the agent, and records the demand. The loop `erase-agents` does the rest when it is due. */
export async function demandErasure(
  { database }: Deps,
  request: RequestOf<typeof demandErasureCall>,
  context: Context,
): Promise<ReplyOf<typeof demandErasureCall>> {
  const { agent, delay_seconds: delaySeconds, reference = null } = request
  return await change(database, request.dry_run, async (tx) => {
    const asked = whoAsks(request, context)
    const found = await lockSuspension(tx, agent)
    const tombstone = await erasures.tombstoneOf(tx, found?.agent_id ?? agent)
    const before = await erasures.findErasure(tx, tombstone)
    if (before !== undefined && (found === undefined || before.step !== 'close'))
      return { changed: false, erasure: stateOf(before) }
    if (found === undefined) throw unknownAgent(agent)
    const isSuspended = found.suspension !== null && found.suspension.until === null
    const earlier = before === undefined ? found.suspension : before.earlier_suspension
    const demand = {
      tombstone,
      agentId: found.agent_id,
      delaySeconds,
      ...asked,
      reference,
      earlier_suspension: earlier,
    }
    const erasure = await erasures.demandErasure(tx, demand)
    if (!isSuspended) await writeSuspension(tx, found.agent_id, { until: null })
    const result = { begins_at: new Date(erasure.due_at * 1_000).toISOString() }
    await recordAudit(tx, 'identity', { ...asked, action: 'erase', target: found.agent_id, reference, result })
    return { changed: true, erasure: stateOf(erasure) }
  })
}

/** Withdraws a demand whose work has not begun. */
export async function cancelErasure(
  { database }: Deps,
  request: RequestOf<typeof cancelErasureCall>,
  context: Context,
): Promise<ReplyOf<typeof cancelErasureCall>> {
  const { agent } = request
  return await change(database, request.dry_run, async (tx) => {
    const asked = whoAsks(request, context)
    const found = await lockSuspension(tx, agent)
    if (found === undefined) throw unknownAgent(agent)
    const tombstone = await erasures.tombstoneOf(tx, found.agent_id)
    const cancelled = await erasures.cancelErasure(tx, tombstone)
    if (cancelled === undefined) {
      const isUnderWay = (await erasures.findErasure(tx, tombstone)) !== undefined
      throw isUnderWay
        ? new ServiceError('forbidden', { detail: 'the erasure has begun, and cannot be cancelled' })
        : new ServiceError('not_found', { detail: `no erasure of ${agent} was asked for` })
    }
    const resumed = cancelled.earlier_suspension === null
    await writeSuspension(tx, found.agent_id, cancelled.earlier_suspension)
    const result = { resumed }
    await recordAudit(tx, 'identity', { ...asked, action: 'cancel-erasure', target: found.agent_id, result })
    return { agent_id: found.agent_id, resumed }
  })
}

export async function listErasures(
  { database }: Deps,
  { limit }: RequestOf<typeof listErasuresCall>,
): Promise<ReplyOf<typeof listErasuresCall>> {
  const found = await database.run((sql) => erasures.listErasures(sql, limit))
  return { erasures: found.map(stateOf) }
}

/** A dry run does everything, and is rolled back. */
async function change<T>(database: Database, dryRun: boolean, work: (tx: Tx) => Promise<T>): Promise<T> {
  let result: { value: T } | undefined
  try {
    return await database.transaction(async (tx) => {
      result = { value: await work(tx) }
      if (dryRun) throw ROLLED_BACK
      return result.value
    })
  } catch (error) {
    if (error === ROLLED_BACK && result !== undefined) return result.value
    throw error
  }
}

const ROLLED_BACK = new Error('a dry run is rolled back')

function whoAsks(request: { readonly reason?: string | undefined; readonly dry_run: boolean }, context: Context) {
  return askedFor(request.dry_run ? { reason: 'dry run' } : request, context)
}

function unknownAgent(agent: string): ServiceError {
  return new ServiceError('not_found', { detail: `no agent has the id or name ${agent}` })
}

function stateOf({ place: _place, earlier_suspension: _earlier, ...erasure }: erasures.Erasure): ErasureState {
  return erasure
}
