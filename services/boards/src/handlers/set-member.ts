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

/** How often the price is looked up again because somebody else changed the board meanwhile. */
const MAX_DECISIONS = 5
/** A new membership costs 1 unit (spec 11.2). */
const ADDITION_UNITS = 1

/**
 * Sets a role. The order: what it comes to, the cost reserved, the change and its operation committed in one transaction under
 * the lock of the board, where it is decided again. What is free never speaks with budget (spec 11.2), and a repeat
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
  throw new ServiceError('unavailable', { cause: new Error('the board changes faster than this is decided') })
}

/** @returns false, with nothing changed or charged, where the price is another by now. */
async function commitChange(
  { database, charging, operations }: Deps,
  request: Request,
  change: RoleChange,
  context: CallContext,
): Promise<boolean> {
  try {
    if (change === 'free') {
      await database.transaction((tx) => writeChange(tx, request, change))
      return true
    }
    const operation = `boards:${randomUUID()}`
    const cost = { operation, agentId: request.caller, units: ADDITION_UNITS, introductionPeer: null }
    await charging.charge(cost, context, (reservation) =>
      database.transaction(async (tx) => {
        await writeChange(tx, request, change)
        await operations.commit(tx, reservation)
      }),
    )
    return true
  } catch (error) {
    if (error instanceof OtherPrice) return false
    throw error
  }
}

/** Under the lock of the board, so that what was paid for, or was free, is what happens, and the limit is exact. */
async function writeChange(tx: Tx, request: Request, expected: RoleChange): Promise<void> {
  await lockBoard(tx, request.board_id)
  if ((await decide(tx, request)) !== expected) throw new OtherPrice('the roles were changed meanwhile')
  await saveRole(tx, request.board_id, request.agent_id, request.role)
}

/** @throws ServiceError what `roleChange` throws, and `not_found` where there is no such board. */
async function decide(sql: Sql | Tx, { board_id, caller, agent_id, standing, role }: Request): Promise<RoleChange> {
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
      records,
    },
    role,
  )
}

class OtherPrice extends NotCommitted {
  override name = 'OtherPrice'
}
