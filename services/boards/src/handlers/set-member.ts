import { randomUUID } from 'node:crypto'
import { NotCommitted } from '@svc/charging/fences.ts'
import type { setMember as setMemberCall } from '@svc/contracts/boards.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Sql, Tx } from '@svc/postgres/database.ts'
import type { BoardsDeps } from '../deps.ts'
import { type RoleChange, roleChange } from '../domain/role-change.ts'
import { lockBoard } from '../store/boards.ts'
import { findGround, saveRole } from '../store/memberships.ts'

type Deps = Pick<BoardsDeps, 'database' | 'charging' | 'operations'>
type Request = RequestOf<typeof setMemberCall>

/** Limit on pricing attempts. The price is looked up again if a concurrent request changes the board. */
const MAX_DECISIONS = 5
/** A new membership costs 1 unit (spec 11.2). */
const ADDITION_UNITS = 1

/**
 * Sets a role. Order of steps: decide and find the price, reserve it, then decide again and commit the change with its
 * operation in one transaction, under the board's lock. A free change makes no call to budget (spec 11.2). A repeat
 * after a lost answer finds the role set, which is free.
 */
export async function setMember(
  deps: Deps,
  request: Request,
  context: CallContext,
): Promise<ReplyOf<typeof setMemberCall>> {
  const { role } = request
  for (let decision = 1; decision <= MAX_DECISIONS; decision += 1) {
    const change = await deps.database.run((sql) => decide(sql, request))
    if (change === 'nothing' || (await commitChange(deps, request, change, context))) return { role }
  }
  throw new ServiceError('unavailable', { cause: new Error('concurrent changes of the board kept changing the price') })
}

/** @returns false if the price has changed meanwhile; then nothing is changed or charged. */
async function commitChange(
  { database, charging, operations }: Deps,
  request: Request,
  change: RoleChange,
  context: CallContext,
): Promise<boolean> {
  try {
    if (change === 'free') {
      await database.transaction((tx) => writeChange(tx, request, change), request.board_id)
      return true
    }
    const operation = `boards:${randomUUID()}`
    const cost = { operation, agentId: request.caller, units: ADDITION_UNITS, introductionPeer: null }
    await charging.charge(cost, context, (reservation) =>
      database.transaction(async (tx) => {
        await writeChange(tx, request, change)
        await operations.commit(tx, reservation)
      }, request.board_id),
    )
    return true
  } catch (error) {
    if (error instanceof OtherPrice) return false
    throw error
  }
}

/**
 * Decides again under the board's lock, so that the limit is exact and the change that is written is the one that was
 * priced.
 */
async function writeChange(tx: Tx, request: Request, expected: RoleChange): Promise<void> {
  await lockBoard(tx, request.board_id)
  if ((await decide(tx, request)) !== expected) throw new OtherPrice('a concurrent request changed the roles')
  await saveRole(tx, request.board_id, request.agent_id, request.role)
}

/** @throws ServiceError the errors of `roleChange`, and `not_found` if there is no such board. */
async function decide(sql: Sql | Tx, request: Request): Promise<RoleChange> {
  const { board_id, caller, agent_id, standing, role } = request
  const ground = await findGround(sql, board_id, caller, agent_id)
  if (ground === undefined) throw new ServiceError('not_found')
  const { visibility, posting, records } = ground
  return roleChange(
    {
      board: { visibility, posting },
      own: caller === agent_id,
      caller: ground.caller ?? 'none',
      current: ground.current ?? 'none',
      standing,
      blocked: isBlocked(request, ground.noted_version),
      records,
    },
    role,
  )
}

/** Messaging's answer, unless the agent has blocked the caller since. */
function isBlocked({ blocked, contact_version }: Request, notedVersion: number | null): boolean {
  const isLater = notedVersion !== null && contact_version !== undefined && notedVersion > contact_version
  return blocked === true || isLater
}

class OtherPrice extends NotCommitted {
  override name = 'OtherPrice'
}
