import { chargedChange } from '@svc/charging/charged-change.ts'
import { PriceChanged } from '@svc/charging/charging.ts'
import { acceptedSubject } from '@svc/contracts/accepted.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError, unlessFault } from '@svc/contracts/errors.ts'
import type { setContact as setContactCall } from '@svc/contracts/messaging.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { Tx } from '@svc/postgres/database.ts'
import type { Deps } from '../../deps.ts'
import { eventText } from '../../domain/event-text.ts'
import { takePage } from '../../domain/pages.ts'
import { contactState, saveContactState } from '../../store/contacts.ts'
import { lockLog, raiseStanding, standingVersion } from '../../store/logs.ts'
import { readArrivals } from '../../store/read/arrivals.ts'
import { promoteRequest } from '../../store/requests.ts'

type ContactDeps = Pick<Deps, 'database' | 'charging' | 'operations' | 'publish'>
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
  if (changed !== 'nothing' && changed.promoted !== undefined) await announce(deps, agent_id, changed.promoted)
  if (state !== 'blocked') return { state }
  return { state, version: await deps.database.run((sql) => standingVersion(sql, agent_id)) }
}

/**
 * Changes the state under the lock of the caller's log. If the caller accepts, the other agent's pending request is promoted
 * in the same transaction (spec 7.7). @returns the new position of the request that was promoted, if any.
 */
async function writeState(tx: Tx, { agent_id, other, state }: Request): Promise<{ promoted: number | undefined }> {
  const { head } = await lockLog(tx, agent_id)
  failpoint('messaging.contact.locked')
  if ((await contactState(tx, agent_id, other)) === state) throw new PriceChanged('another request set the contact')
  await saveContactState(tx, agent_id, other, state)
  const position = head + 1
  const isPromoted = state === 'accepted' && (await promoteRequest(tx, agent_id, other, position))
  await raiseStanding(tx, agent_id, isPromoted ? position : head)
  return { promoted: isPromoted ? position : undefined }
}

/** Publishes the promoted message as it is now. The change is committed, so a failure only delays the event. */
async function announce({ database, publish }: ContactDeps, agent: string, cursor: number): Promise<void> {
  const entry = [{ agent_id: agent, cursor }]
  const rows = await database.run((sql) => readArrivals(sql, entry)).catch(unlessFault([]))
  const { texts } = takePage(rows, 1, (_row, message) => eventText(cursor, 'inbox', message))
  publish(texts.map((text) => ({ subject: acceptedSubject(agent, 'inbox'), text, acceptedMs: Date.now() })))
}
