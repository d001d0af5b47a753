import { randomUUID } from 'node:crypto'
import { NotCommitted } from '@svc/charging/fences.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { updateSettings as updateSettingsCall } from '@svc/contracts/identity.ts'
import type { Settings } from '@svc/contracts/resources.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { Tx } from '@svc/postgres/database.ts'
import { pushMailbox } from '../calls/push-mailbox.ts'
import type { IdentityDeps } from '../deps.ts'
import { type AgentRecord, ownIdentity } from '../domain/agent.ts'
import { applySettings, type SettingsChange, settingsChange } from '../domain/settings.ts'
import { lockAgent, writeSettings } from '../store/agents.ts'

type Deps = Pick<IdentityDeps, 'database' | 'bus' | 'charging' | 'operations' | 'readers' | 'authority'>

/** Limit on pricing attempts. The price is looked up again if a concurrent request changes the settings. */
const MAX_DECISIONS = 5
const UNITS = 1

/**
 * Changes settings. Order of steps: find the price, reserve it, commit the change with its operation in one
 * transaction, push the mailbox to messaging, answer. A repeat after a failure changes nothing, so it is free, and it
 * completes the steps that are left.
 */
export async function updateSettings(
  deps: Deps,
  { agent_id, settings }: RequestOf<typeof updateSettingsCall>,
  context: CallContext,
): Promise<ReplyOf<typeof updateSettingsCall>> {
  for (let decision = 1; decision <= MAX_DECISIONS; decision += 1) {
    const before = requireActive(await deps.readers.byId(agent_id))
    const change = settingsChange(before, applySettings(before, settings))
    const after = await commitChange(deps, before, { settings, change }, context)
    if (after === undefined) continue
    failpoint('identity.settings.committed')
    if (after.mailbox_pushed < after.mailbox_version) await pushMailbox(deps, after, context)
    return ownIdentity(after, deps.authority)
  }
  throw new ServiceError('unavailable', {
    cause: new Error('concurrent changes of the settings kept changing the price'),
  })
}

/** @returns the record after the change. undefined if the price has changed meanwhile; then nothing is changed or charged. */
async function commitChange(
  { database, charging, operations }: Deps,
  before: AgentRecord,
  { settings, change }: { settings: Settings; change: SettingsChange },
  context: CallContext,
): Promise<AgentRecord | undefined> {
  const { agent_id: agentId } = before
  if (change === 'nothing') return before
  try {
    if (change === 'free')
      return await database.transaction((tx) => writeChange(tx, agentId, settings, change), agentId)
    // The client cannot choose the operation id. Every request is an operation of its own, and repeating one that took
    // effect is free.
    const operation = `identity:${randomUUID()}`
    return await charging.charge(
      { operation, agentId, units: UNITS, introductionPeer: null },
      context,
      (reservation) => {
        failpoint('identity.settings.reserved')
        return database.transaction(async (tx) => {
          const after = await writeChange(tx, agentId, settings, change)
          // A duplicate means that this transaction was committed before and ran again.
          await operations.commit(tx, reservation)
          return after
        }, agentId)
      },
    )
  } catch (error) {
    if (error instanceof OtherPrice) return undefined
    throw error
  }
}

/** Decides again under the row lock, so that the change that is written is the one that was priced. */
async function writeChange(
  tx: Tx,
  agentId: string,
  settings: Settings,
  expected: SettingsChange,
): Promise<AgentRecord> {
  const locked = requireActive(await lockAgent(tx, agentId))
  const next = applySettings(locked, settings)
  if (settingsChange(locked, next) !== expected) throw new OtherPrice('a concurrent request changed the settings')
  return writeSettings(tx, agentId, next)
}

/**
 * If the agent is revoked after this request was admitted, the answer is the same as for an earlier revocation
 * (spec 5.11).
 */
function requireActive(record: AgentRecord | undefined): AgentRecord {
  if (record === undefined) throw new ServiceError('not_found')
  if (record.revoked) throw new ServiceError('signer_revoked')
  return record
}

class OtherPrice extends NotCommitted {
  override name = 'OtherPrice'
}
