import type { BoardDetails } from '@svc/contracts/resources.ts'
import type { Fence } from '../fence.ts'
import type { Mailbox } from '../mailbox.ts'
import type { BoardView } from '../tools/schemas.ts'

/** A board as tools show it. What its owner wrote is fenced; nobody signs it, so it is withheld where unverified text is. */
export function viewBoard({ key, policy }: Mailbox, board: BoardDetails, fence: Fence): BoardView {
  const { id, owner, title, description, visibility, posting } = board
  const isWithheld = policy.requireVerified && owner !== key.agentId
  return {
    board_id: id,
    owner,
    yours: owner === key.agentId,
    visibility,
    posting,
    about: isWithheld ? null : fence.wrap(description === '' ? title : `${title}\n${description}`),
  }
}
