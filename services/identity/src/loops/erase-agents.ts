import { recordErasure } from '@svc/audit/audit.ts'
import type { CallContext } from '@svc/contracts/define.ts'
import { type ErasedCounts, eraseAgent, eraseOrphans } from '@svc/contracts/erasure.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { closeWebhook } from '../calls/close-webhook.ts'
import { pushMailbox } from '../calls/push-mailbox.ts'
import type { IdentityDeps } from '../deps.ts'
import { addCounts, isErasing, stepAfter } from '../domain/erasure-steps.ts'
import { revokeAgent } from '../store/agents.ts'
import { advanceErasure, claimErasure, type Erasure, finishErasure } from '../store/erasures.ts'

type Deps = Pick<IdentityDeps, 'bus' | 'database'>
type Claimed = Erasure & { readonly agent_id: string }

const INTERVAL_MS = 2_000
/** A service may have to search whole tables (libs/postgres, runErasure). Below the lease of an erasure. */
const STEP_MS = 25_000

/**
 * Does the erasures that are due, one step in a pass. Every step may be repeated, so a process that dies costs only the rest of
 * its lease. Safe on many replicas.
 */
export function startEraseAgents(deps: Deps & { logger: Logger }): Loop {
  return startLoop({
    name: 'erase-agents',
    logger: deps.logger,
    intervalMs: INTERVAL_MS,
    run: async () => {
      const erasure = await deps.database.run(claimErasure)
      if (erasure === undefined) return false
      await doStep(deps, erasure)
      failpoint('identity.erasure.stepped')
      return true
    },
  })
}

async function doStep(deps: Deps, erasure: Claimed): Promise<void> {
  const { tombstone, step, report } = erasure
  const context = { traceparent: newTraceparent(), deadlineMs: Date.now() + STEP_MS }
  if (step === 'finish') return await finish(deps, erasure)
  const { done, counts, place } = await work(deps, erasure, context)
  const next = done ? stepAfter(step) : { step, waitSeconds: 0 }
  const progress = { tombstone, ...next, place, report: addCounts(report, step, counts) }
  await deps.database.run((sql) => advanceErasure(sql, step, progress))
}

interface Worked {
  readonly done: boolean
  readonly counts: ErasedCounts
  /** Where the next page of the step begins. */
  readonly place: string
}

async function work(deps: Deps, erasure: Claimed, context: CallContext): Promise<Worked> {
  const { step, place: after, agent_id, tombstone, operator, reason, reference } = erasure
  if (isErasing(step)) {
    const request = { agent_id, tombstone, operator, reason, reference }
    return { place: '', ...(await deps.bus.call(eraseAgent(step), request, context)) }
  }
  if (step === 'orphans') {
    const { next, counts } = await deps.bus.call(eraseOrphans, { after }, context)
    return { done: next === null, counts, place: next ?? '' }
  }
  await close(deps, agent_id, context)
  return { done: true, counts: {}, place: '' }
}

/** Revokes the agent, so that nothing more reaches it, and waits until messaging and webhook know. */
async function close(deps: Deps, agentId: string, context: CallContext): Promise<void> {
  const record = await deps.database.transaction((tx) => revokeAgent(tx, agentId), agentId)
  if (record === undefined) return
  await pushMailbox(deps, record, context)
  await closeWebhook(deps, agentId, context)
}

async function finish({ database }: Deps, erasure: Claimed): Promise<void> {
  const { report } = erasure
  const totals = Object.entries(report).flatMap(([part, counts]) =>
    Object.entries(counts).map(([kind, count]) => [`${part}.${kind}`, count] as const),
  )
  await database.transaction(async (tx) => {
    await finishErasure(tx, erasure)
    await recordErasure(tx, 'identity', erasure, Object.fromEntries(totals))
  }, erasure.agent_id)
}
