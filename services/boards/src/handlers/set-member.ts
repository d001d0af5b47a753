import { chargedChange } from '@svc/charging/charged-change.ts'
import { PriceChanged } from '@svc/charging/charging.ts'
import type { setMember as setMemberCall } from '@svc/contracts/boards.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Sql, Tx } from '@svc/postgres/database.ts'
import type { BoardsDeps } from '../deps.ts'
import { roleChange } from '../domain/role-change.ts'
import { lockBoard } from '../store/boards.ts'
import { findGround, saveRole } from '../store/memberships.ts'

type Deps = Pick<BoardsDeps, 'database' | 'charging' | 'operations'>
type Request = RequestOf<typeof setMemberCall>

/** Sets a role. The board's lock makes the limit of records exact. */
export async function setMember(
  deps: Deps,
  request: Request,
  context: CallContext,
): Promise<ReplyOf<typeof setMemberCall>> {
  const { board_id, caller, agent_id, role } = request
  const change = {
    agentId: caller,
    lock: board_id,
    price: () => deps.database.run((sql) => priceOf(sql, request)),
    async write(tx: Tx, units: number): Promise<void> {
      await lockBoard(tx, board_id)
      if ((await priceOf(tx, request)) !== units) throw new PriceChanged('a concurrent request changed the roles')
      await saveRole(tx, board_id, agent_id, role)
    },
  }
  await chargedChange(deps, change, context)
  return { role }
}

/** @throws ServiceError the errors of `roleChange`, and `not_found` if there is no such board. */
async function priceOf(sql: Sql | Tx, request: Request): Promise<number | 'nothing'> {
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
