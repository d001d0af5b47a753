import { askedFor, recordAudit } from '@svc/audit/audit.ts'
import type { resumeAgent as resumeAgentCall, suspendAgent as suspendAgentCall } from '@svc/contracts/admin.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Suspension } from '@svc/contracts/suspension.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import { pushSuspension, Unconfirmed } from '../calls/push-suspension.ts'
import type { IdentityDeps } from '../deps.ts'
import { changesSuspension, type SuspensionRecord } from '../domain/suspension.ts'
import { hasErasure } from '../store/erasures.ts'
import { findSuspension, lockSuspension, writeSuspension } from '../store/suspensions.ts'

type Deps = Pick<IdentityDeps, 'bus' | 'database'>
type Request = RequestOf<typeof resumeAgentCall>
type Changed = ReplyOf<typeof resumeAgentCall>

/** Upper limit for telling messaging and webhook within the call. After that the `push-suspensions` loop takes over. */
const PUSH_LIMIT_MS = 1_500

/** Suspends an agent until a time or until it is resumed, or moves the end of its suspension (spec 12.4). */
export async function suspendAgent(
  deps: Deps,
  request: RequestOf<typeof suspendAgentCall>,
  context: CallContext,
): Promise<ReplyOf<typeof suspendAgentCall>> {
  const { until } = request
  return { ...(await changeSuspension(deps, request, { until }, context)), until }
}

/** Ends the suspension of an agent. Its deliveries go on where they stopped (spec 12.4). */
export async function resumeAgent(deps: Deps, request: Request, context: CallContext): Promise<Changed> {
  return changeSuspension(deps, request, null, context)
}

/**
 * The signer is refused, or admitted again, from the commit on: every request asks identity. No other service is needed. The answer
 * waits at most `PUSH_LIMIT_MS` for messaging and webhook. A repeat changes nothing, and tells those that did not hear of it.
 */
async function changeSuspension(
  deps: Deps,
  request: Request,
  next: Suspension | null,
  context: CallContext,
): Promise<Changed> {
  const { record, changed } = await (request.dry_run
    ? preview(deps, request, next)
    : writeChange(deps, request, next, context))
  const { agent_id, name } = record
  const isPushed = request.dry_run || record.suspension_pushed === record.suspension_version
  if (!request.dry_run) failpoint('identity.suspension.committed')
  return { agent_id, name, changed, waiting_for: isPushed ? [] : await tell(deps, record, context) }
}

interface Judged {
  readonly record: SuspensionRecord
  readonly changed: boolean
}

async function preview({ database }: Deps, { agent }: Request, next: Suspension | null): Promise<Judged> {
  const record = requireAgent(await database.run((sql) => findSuspension(sql, agent)), agent)
  if (await database.run((sql) => hasErasure(sql, record.agent_id))) throw awaitsErasure()
  return { record, changed: changesSuspension(record, next, Date.now() / 1_000) }
}

async function writeChange(
  { database }: Deps,
  request: Request,
  next: Suspension | null,
  context: CallContext,
): Promise<Judged> {
  const { agent, reference = null } = request
  const asked = askedFor(request, context)
  return database.transaction(async (tx) => {
    const before = requireAgent(await lockSuspension(tx, agent), agent)
    if (await hasErasure(tx, before.agent_id)) throw awaitsErasure()
    if (!changesSuspension(before, next, Date.now() / 1_000)) return { record: before, changed: false }
    const { agent_id: target } = before
    const record = await writeSuspension(tx, target, next)
    const entry =
      next === null
        ? { action: 'resume' }
        : { action: 'suspend', result: { until: next.until === null ? null : isoOf(next.until) } }
    await recordAudit(tx, 'identity', { ...asked, ...entry, target, reference })
    return { record, changed: true }
  })
}

function awaitsErasure(): ServiceError {
  const detail = 'the agent is suspended until it is erased: cancel the erasure first (svc admin erase --cancel)'
  return new ServiceError('forbidden', { detail })
}

function requireAgent(record: SuspensionRecord | undefined, agent: string): SuspensionRecord {
  if (record === undefined) throw new ServiceError('not_found', { detail: `no agent has the id or name ${agent}` })
  return record
}

/** @returns the services that have not confirmed the change yet. */
async function tell(deps: Deps, record: SuspensionRecord, { traceparent, deadlineMs }: CallContext): Promise<string[]> {
  const context = { traceparent, deadlineMs: Math.min(deadlineMs, Date.now() + PUSH_LIMIT_MS) }
  try {
    await pushSuspension(deps, record, context)
    return []
  } catch (error) {
    if (error instanceof Unconfirmed) return [...error.services]
    throw error
  }
}

/** `2026-11-20T12:00:05Z`. */
function isoOf(unixSeconds: number): string {
  return `${new Date(unixSeconds * 1_000).toISOString().slice(0, 19)}Z`
}
