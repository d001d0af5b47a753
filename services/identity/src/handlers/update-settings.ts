import { chargedChange } from '@svc/charging/charged-change.ts'
import { PriceChanged } from '@svc/charging/charging.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { updateSettings as updateSettingsCall } from '@svc/contracts/identity.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { Tx } from '@svc/postgres/database.ts'
import { pushMailbox } from '../calls/push-mailbox.ts'
import type { IdentityDeps } from '../deps.ts'
import { type AgentRecord, ownIdentity } from '../domain/agent.ts'
import { applySettings, settingsPrice } from '../domain/settings.ts'
import { lockAgent, writeSettings } from '../store/agents.ts'

type Deps = Pick<IdentityDeps, 'database' | 'bus' | 'charging' | 'operations' | 'readers' | 'authority'>

/**
 * Changes settings, then pushes the mailbox to messaging. A repeat after a failure changes nothing, so it is free, and it
 * completes the push.
 */
export async function updateSettings(
  deps: Deps,
  { agent_id: agentId, settings }: RequestOf<typeof updateSettingsCall>,
  context: CallContext,
): Promise<ReplyOf<typeof updateSettingsCall>> {
  let before: AgentRecord | undefined
  const change = {
    agentId,
    lock: agentId,
    async price(): Promise<number | 'nothing'> {
      before = await deps.readers.byId(agentId)
      const active = requireActive(before)
      return settingsPrice(active, applySettings(active, settings))
    },
    async write(tx: Tx, units: number): Promise<AgentRecord> {
      const locked = requireActive(await lockAgent(tx, agentId))
      const next = applySettings(locked, settings)
      if (settingsPrice(locked, next) !== units) throw new PriceChanged('a concurrent request changed the settings')
      return writeSettings(tx, agentId, next)
    },
  }
  const changed = await chargedChange(deps, change, context)
  const after = changed === 'nothing' ? requireActive(before) : changed
  failpoint('identity.settings.committed')
  if (after.mailbox_pushed < after.mailbox_version) await pushMailbox(deps, after, context)
  return ownIdentity(after, deps.authority)
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
