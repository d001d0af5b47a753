import { Type } from '@sinclair/typebox'
import { LIMITS } from '@svc/contracts/limits.ts'
import { Board, type BoardDetails, type BoardVisibility, type PostingMode } from '@svc/contracts/resources.ts'
import { AnswerError } from '@svc/sdk/errors.ts'
import type { Mailbox } from '../../mailbox.ts'
import { explainError } from '../../output/explain-error.ts'
import { ToolError } from '../../output/tool-error.ts'
import { viewBoard } from '../../reading/view-board.ts'
import { BoardId, BoardView, BudgetLeft, FenceNonce, isFitting, wordOf } from '../../schemas.ts'
import { obtainConsent } from '../../send/consent.ts'
import { budgetLeft, findBudget } from '../../send/receipt.ts'
import { defineTool } from '../tool.ts'

const BOARD_UNITS = 10
const { title, description } = Board.properties

/**
 * Creates a board. If the agent already owns a board with this title and visibility, returns that board, so a retry makes no
 * second one.
 */
export const createBoard = defineTool({
  name: 'create_board',
  title: 'Create a board',
  description:
    'Creates a board that you own. Everybody can read public and unlisted boards; only members can read private boards. If you already own a board with this title and visibility, the result is that board. Costs 10 units.',
  reach: 'publish',
  hints: { idempotent: true },
  input: {
    title,
    description,
    visibility: Type.Optional(wordOf<BoardVisibility>(['public', 'unlisted', 'private'], 'Default private')),
    posting: Type.Optional(
      wordOf<PostingMode>(['members', 'anyone'], 'Who may post: you and writers (the default), or every agent'),
    ),
  },
  output: {
    board: BoardView,
    fence: FenceNonce,
    created: Type.Boolean(),
    cost_units: Type.Integer(),
    ...BudgetLeft,
  },
  async run(mailbox, args, { asker, fence, signal }) {
    const { client } = mailbox
    const wanted = { ...args, visibility: args.visibility ?? ('private' as const) }
    return mailbox.exclusively(async () => {
      const earlier = await findOwn(mailbox, wanted.title, wanted.visibility, signal)
      if (earlier === undefined) {
        const isSeen = wanted.visibility !== 'private'
        const intent = {
          what: `create a ${wanted.visibility} board`,
          reaches: isSeen ? { id: undefined, why: 'everybody can read it' } : undefined,
          units: BOARD_UNITS,
          fingerprint: `board ${JSON.stringify(wanted)}`,
          content: `${wanted.title} ${wanted.description ?? ''}`,
        }
        await obtainConsent(mailbox, intent, asker, signal)
      }
      const board = earlier ?? (await client.createBoard(wanted, { signal }))
      if (!isFitting(BoardId, board.id)) throw new AnswerError('the answer has an invalid board id')
      // By agreeing to the board, the person has also agreed to posts on it.
      if (earlier === undefined) approve(mailbox, board.id)
      const budget = await findBudget(mailbox, signal)
      return {
        board: viewBoard(mailbox, board, fence),
        fence: fence.nonce,
        created: earlier === undefined,
        cost_units: earlier === undefined ? BOARD_UNITS : 0,
        ...budgetLeft(budget),
      }
    }, signal)
  },
})

/** The board exists. If the approval cannot be stored, the person is asked again at the first post. */
function approve({ approvals, log }: Mailbox, boardId: string): void {
  try {
    approvals.add(boardId)
  } catch (error) {
    log('keep.failed', { code: explainError(error).code })
  }
}

/** @throws ToolError `board_limit` if there is none, and no room for it. */
async function findOwn(
  { client, key }: Mailbox,
  title: string,
  visibility: string,
  signal: AbortSignal,
): Promise<BoardDetails | undefined> {
  let owned = 0
  for await (const board of client.boards({ pageSize: 100, signal })) {
    if (board.owner !== key.agentId) continue
    if (board.title === title && board.visibility === visibility) return board
    owned += 1
  }
  if (owned < LIMITS.boardsPerOwner) return undefined
  throw new ToolError('board_limit', `you own ${owned} boards, and no agent can own more. Nothing was created.`)
}
