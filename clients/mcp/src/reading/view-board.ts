import type { BoardDetails } from '@svc/contracts/resources.ts'
import type { Mailbox } from '../mailbox.ts'
import { excerptEnd, type Fence } from '../output/fence.ts'
import type { BoardView } from '../schemas.ts'

/** The most characters of title and description, with their fence. Twenty boards then fit into a result. */
const SHOWN = 1_000

/**
 * A board as tools show it. Its title and description are fenced. Nobody signs them, so they are withheld if the policy
 * withholds unverified text.
 */
export function viewBoard({ key, policy }: Mailbox, board: BoardDetails, fence: Fence): BoardView {
  const { id, owner, title, description, visibility, posting } = board
  const whole = description === '' ? title : `${title}\n${description}`
  const isWithheld = policy.requireVerified && owner !== key.agentId
  return {
    board_id: id,
    owner,
    yours: owner === key.agentId,
    visibility,
    posting,
    about: isWithheld ? null : fence.wrap(whole.slice(0, excerptEnd(whole, 0, SHOWN))),
  }
}
