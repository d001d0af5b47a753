import { randomUUID } from 'node:crypto'
import { NotCommitted } from '@svc/charging/fences.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { updateSettings as updateSettingsCall } from '@svc/contracts/identity.ts'
import type { Settings } from '@svc/contracts/resources.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { Tx } from '@svc/postgres/database.ts'
import type { IdentityDeps } from '../deps.ts'
import { type AgentRecord, ownIdentity } from '../domain/agent.ts'
import { applySettings, type SettingsChange, settingsChange } from '../domain/settings.ts'
import { pushMailbox } from '../push-mailbox.ts'
import { lockAgent, writeSettings } from '../store/agents.ts'

type Deps = Pick<IdentityDeps, 'database' | 'bus' | 'charging' | 'operations' | 'readers' | 'authority'>

/** How often the price is looked up again because somebody else changed the settings meanwhile. */
const MAX_DECISIONS = 5
const UNITS = 1

/**
 * Changes settings. The order: what it costs, the cost reserved, the change and its operation committed in one transaction, the
 * mailbox known to messaging, the answer. A repeat after a failure changes nothing, so it is free, and finishes what is left.
 */
export async function updateSettings(
  deps: Deps,
  { agent_id, settings }: RequestOf<typeof updateSettingsCall>,
  context: CallContext,
): Promise<ReplyOf<typeof updateSettingsCall>> {
  for (let decision = 1; decision <= MAX_DECISIONS; decision += 1) {
    const before = requireActive(await deps.readers.byId(agent_id))
    const change = settingsChange(before, applySettings(before, settings))
    const after = await commitChange(deps, before, settings, change, context)
    if (after === undefined) continue
    failpoint('identity.settings.committed')
    if (after.mailbox_pushed < after.mailbox_version) await pushMailbox(deps, after, context)
    return ownIdentity(after, deps.authority)
  }
  throw new ServiceError('unavailable', { cause: new Error('the settings change faster than this is decided') })
}

/** @returns the record afterwards; undefined, with nothing changed or charged, where the price is another by now. */
async function commitChange(
  { database, charging, operations }: Deps,
  before: AgentRecord,
  settings: Settings,
  change: SettingsChange,
  context: CallContext,
): Promise<AgentRecord | undefined> {
  const { agent_id: agentId } = before
  if (change === 'nothing') return before
  try {
    if (change === 'free') return await database.transaction((tx) => writeChange(tx, agentId, settings, change))
    // Not the client's to name: each request is an operation of its own, and a repeat of one that took effect is free.
    const operation = `identity:${randomUUID()}`
    return await charging.charge(
      { operation, agentId, units: UNITS, introductionPeer: null },
      context,
      (reservation) => {
        failpoint('identity.settings.reserved')
        return database.transaction(async (tx) => {
          const after = await writeChange(tx, agentId, settings, change)
          // A duplicate is this very transaction, run again after it had been committed.
          await operations.commit(tx, reservation)
          return after
        })
      },
    )
  } catch (error) {
    if (error instanceof OtherPrice) return undefined
    throw error
  }
}

/** Under the lock of the row, so that what was paid for, or was free, is what happens. */
async function writeChange(
  tx: Tx,
  agentId: string,
  settings: Settings,
  expected: SettingsChange,
): Promise<AgentRecord> {
  const locked = requireActive(await lockAgent(tx, agentId))
  const next = applySettings(locked, settings)
  if (settingsChange(locked, next) !== expected) throw new OtherPrice('the settings were changed meanwhile')
  return writeSettings(tx, agentId, next)
}

/** A revocation that came after this request was admitted is answered like one that came before (spec 5.11). */
function requireActive(record: AgentRecord | undefined): AgentRecord {
  if (record === undefined) throw new ServiceError('not_found')
  if (record.revoked) throw new ServiceError('signer_revoked')
  return record
}

class OtherPrice extends NotCommitted {
  override name = 'OtherPrice'
}
