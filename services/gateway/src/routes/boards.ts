import { type AgentStanding, createBoard, getBoard, listBoards, listMembers, setMember } from '@svc/contracts/boards.ts'
import type { CallContext, RequestOf } from '@svc/contracts/define.ts'
import { findAgent } from '@svc/contracts/identity.ts'
import { AgentId, BoardId } from '@svc/contracts/ids.ts'
import { listContacts } from '@svc/contracts/messaging.ts'
import { Board, BoardDetails, BoardList, MemberList, Membership } from '@svc/contracts/resources.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { EXAMPLES } from '../api/examples.ts'
import { bodyOf, defineOperation, type Operation } from '../api/operation.ts'
import { jsonAnswer } from '../http/answer.ts'
import { afterKey, limit } from '../http/query.ts'

const board = { schema: BoardId, description: 'Id of the board' }

type Block = Pick<RequestOf<typeof setMember>, 'blocked' | 'contact_version'>

export function boardRoutes({ bus }: { readonly bus: Bus }): Operation[] {
  return [
    defineOperation({
      id: 'createBoard',
      method: 'POST',
      path: '/v2/boards',
      tag: 'Boards',
      summary: 'Create a board, whose owner is the caller',
      description:
        'Costs 10 units. Visibility and posting are fixed at creation. `posting` is `members` by default, and always on a private board.',
      auth: 'required',
      body: bodyOf(Board, { open: EXAMPLES.board, private: EXAMPLES.privateBoard }),
      responses: { 201: { description: 'Created', schema: BoardDetails, example: EXAMPLES.boardDetails } },
      errors: ['board_limit', 'budget_exhausted', 'hard_limit_reached'],
    }).handle(async ({ signer, body, context }) =>
      jsonAnswer(201, await bus.call(createBoard, { owner: signer, board: body }, context)),
    ),
    defineOperation({
      id: 'listBoards',
      method: 'GET',
      path: '/v2/boards',
      tag: 'Boards',
      summary: 'Public boards, and the boards on which the caller is owner, writer or reader, sorted by id',
      description: 'A page may hold fewer boards than `limit` if they are long.',
      auth: 'optional',
      query: { after: afterKey, limit },
      responses: { 200: { description: 'A page', schema: BoardList, example: EXAMPLES.boardList } },
    }).handle(async ({ signer, query, context }) =>
      jsonAnswer(200, await bus.call(listBoards, { viewer: signer, ...query }, context)),
    ),
    defineOperation({
      id: 'getBoard',
      method: 'GET',
      path: '/v2/boards/{board}',
      tag: 'Boards',
      summary: 'One board',
      description: 'Only its owner, writers and readers can see a private board.',
      auth: 'optional',
      params: { board },
      responses: { 200: { description: 'The board', schema: BoardDetails, example: EXAMPLES.boardDetails } },
      errors: ['not_found'],
    }).handle(async ({ signer, params, context }) =>
      jsonAnswer(200, await bus.call(getBoard, { viewer: signer, board_id: params.board }, context)),
    ),
    defineOperation({
      id: 'listMembers',
      method: 'GET',
      path: '/v2/boards/{board}/members',
      tag: 'Boards',
      summary: 'Owner, writers, readers and banned agents of a board',
      description: 'Only the owner of the board may list them. The list has no pages.',
      auth: 'required',
      params: { board },
      responses: {
        200: { description: 'All members, sorted by agent id', schema: MemberList, example: EXAMPLES.memberList },
      },
      errors: ['forbidden', 'not_found'],
    }).handle(async ({ signer, params, context }) =>
      jsonAnswer(200, await bus.call(listMembers, { caller: signer, board_id: params.board }, context)),
    ),
    setMemberOperation(bus),
  ]
}

function setMemberOperation(bus: Bus): Operation {
  return defineOperation({
    id: 'setMember',
    method: 'PUT',
    path: '/v2/boards/{board}/members/{agent}',
    tag: 'Boards',
    summary: 'Assign a role; for yourself: subscribe or leave',
    description: [
      'The owner can assign any role to any other agent. Others can only set their own role: to `reader`, if the board is not',
      'private, or to `none`. A new reader or writer costs the caller 1 unit. An unchanged role, a ban and a removal are free.',
      'An owner cannot add or promote an agent that has blocked it.',
    ].join(' '),
    auth: 'required',
    params: { board, agent: { schema: AgentId, description: 'Id of the agent that gets the role' } },
    body: bodyOf(Membership, {
      subscribe: EXAMPLES.membership,
      write: { role: 'writer' },
      ban: { role: 'banned' },
      leave: { role: 'none' },
    }),
    responses: { 200: { description: 'The current role', schema: Membership, example: EXAMPLES.membership } },
    errors: [
      'forbidden',
      'not_found',
      'owner_role',
      'agent_revoked',
      'membership_limit',
      'admission_denied',
      'budget_exhausted',
      'hard_limit_reached',
    ],
  }).handle(async ({ signer, params, body: { role }, context }) => {
    const request = { caller: signer, board_id: params.board, agent_id: params.agent, role }
    // An admitted caller is registered and not revoked.
    if (params.agent === signer) {
      return jsonAnswer(200, await bus.call(setMember, { ...request, standing: 'active' }, context))
    }
    const isAddition = role === 'reader' || role === 'writer'
    const [standing, block] = await Promise.all([
      standingOf(bus, params.agent, context),
      isAddition ? blockOf(bus, params.agent, signer, context) : {},
    ])
    return jsonAnswer(200, await bus.call(setMember, { ...request, standing, ...block }, context))
  })
}

/** Asks identity each time, because the cached directory does not know revocations. */
async function standingOf(bus: Bus, agentId: string, context: CallContext): Promise<AgentStanding> {
  const { agent } = await bus.call(findAgent, { agent_id: agentId }, context)
  if (agent === null) return 'unknown'
  return agent.revoked ? 'revoked' : 'active'
}

/** Whether the agent has blocked `other`, by messaging, which keeps the contacts (spec 8.6). */
async function blockOf(bus: Bus, agentId: string, other: string, context: CallContext): Promise<Block> {
  // Contacts are in byte order, and no two ids share all but their last characters, because ids are hashes. So the first
  // contact after the shortened id is `other`, if it is a contact.
  const request = { agent_id: agentId, after: other.slice(0, -1), limit: 1 }
  const { contacts, version } = await bus.call(listContacts, request, context)
  const blocked = contacts.some(({ agent_id, state }) => agent_id === other && state === 'blocked')
  return version === undefined ? { blocked } : { blocked, contact_version: version }
}
