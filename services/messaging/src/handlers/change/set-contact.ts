import { chargedChange } from '@svc/charging/charged-change.ts'
import { PriceChanged } from '@svc/charging/charging.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError, unlessFault } from '@svc/contracts/errors.ts'
import type { setContact as setContactCall } from '@svc/contracts/messaging.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { Tx } from '@svc/postgres/database.ts'
import type { Deps } from '../../deps.ts'
import { PUBLISH_LEASE_SECONDS } from '../../outbox/publisher.ts'
import { contactState, saveContactState } from '../../store/contacts.ts'
import { lockLog, raiseStanding, standingVersion } from '../../store/logs.ts'
import { findOutboxRows, insertOutbox } from '../../store/outbox.ts'
import { promoteRequest } from '../../store/requests.ts'

type ContactDeps = Pick<Deps, 'database' | 'charging' | 'operations' | 'publisher'>
type Request = RequestOf<typeof setContactCall>
type Result = ReplyOf<typeof setContactCall>

/** Accepting a contact costs 1 unit (spec 11.2). */
const ACCEPT_UNITS = 1

/**
 * Sets the caller's contact state for another agent. The new state applies to every append after the answer, because the change
 * raises the standing of the caller's log under its lock.
 *
 * Only accepting costs anything. Blocking, removing and repeating never call budget. So they work with an exhausted budget, and
 * while budget is down (spec 7.7, 11.2).
 */
export async function setContact(deps: ContactDeps, request: Request, context: CallContext): Promise<Result> {
  const { agent_id, other, state } = request
  if (agent_id === other) throw new ServiceError('invalid_request', { detail: 'you cannot be your own contact' })
  const change = {
    agentId: agent_id,
    lock: agent_id,
    async price(): Promise<number | 'nothing'> {
      const current = await deps.database.run((sql) => contactState(sql, agent_id, other))
      if (current === state) return 'nothing'
      return state === 'accepted' ? ACCEPT_UNITS : 0
    },
    write: (tx: Tx) => writeState(tx, request),
  }
  const changed = await chargedChange(deps, change, context)
  if (changed !== 'nothing' && changed.outboxId !== undefined) await announce(deps, changed.outboxId)
  if (state !== 'blocked') return { state }
  return { state, version: await deps.database.run((sql) => standingVersion(sql, agent_id)) }
}

/**
 * Changes the state under the lock of the caller's log. If the caller accepts, the other agent's pending request is promoted
 * in the same transaction (spec 7.7). @returns the outbox row of the request that was promoted, if any.
 */
async function writeState(tx: Tx, { agent_id, other, state }: Request): Promise<{ outboxId: number | undefined }> {
  const { head } = await lockLog(tx, agent_id)
  failpoint('messaging.contact.locked')
  if ((await contactState(tx, agent_id, other)) === state) throw new PriceChanged('another request set the contact')
  await saveContactState(tx, agent_id, other, state)
  const position = head + 1
  const place = state === 'accepted' ? await promoteRequest(tx, agent_id, other, position) : undefined
  await raiseStanding(tx, agent_id, place === undefined ? head : position)
  if (place === undefined) return { outboxId: undefined }
  return { outboxId: await insertOutbox(tx, { log: agent_id, kind: 'inbox', position, place }, PUBLISH_LEASE_SECONDS) }
}

/** Publishes the promoted message as it is now. The change is committed, so after a failure the outbox loop publishes it. */
async function announce({ database, publisher }: ContactDeps, outboxId: number): Promise<void> {
  const [row] = await database.run((sql) => findOutboxRows(sql, [outboxId])).catch(unlessFault([]))
  if (row !== undefined) publisher.publishCommitted(row)
}
