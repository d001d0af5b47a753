/**
 * The specification as pure functions: each returns the one right answer for a known state. If a checker does not know the
 * whole state, it calls the function for every possible state (possible.ts). The results are the allowed answers.
 *
 * An answer is `<status> <code>`, `<status> <lane>`, or the status. This file shares no code with the product.
 */
import type { BoardVisibility, ContactState, Policy, Posting, Role } from '../history/calls.ts'

/** The state that a payment depends on. Source: spec 7.2 (order), 11.3. */
export interface Purse {
  /** Needed only if the message is an introduction. */
  readonly introductionsUsedUp: boolean
  readonly ceilingReached: boolean
  readonly unitsUsedUp: boolean
}

/** @returns the refusal, or undefined if the agent can pay. */
function refusalOfPurse({ introductionsUsedUp, ceilingReached, unitsUsedUp }: Purse): string | undefined {
  if (introductionsUsedUp) return '429 introduction_limit_reached'
  if (ceilingReached) return '429 hard_limit_reached'
  if (unitsUsedUp) return '429 budget_exhausted'
  return undefined
}

/** The state that the answer to every message depends on. Source: spec 6.2, 6.5, 6.7, 6.9, 7.2, 7.4. */
interface MessageState extends Purse {
  readonly signerRevoked: boolean
  readonly tooLarge: boolean
  /** Whether a message with this id exists, and whether its envelope is the same. */
  readonly earlier: 'none' | 'same' | 'other'
  readonly expired: boolean
  readonly badReference: boolean
}

export interface DmState extends MessageState {
  readonly toOneself: boolean
  /** The recipient does not exist or is revoked. */
  readonly recipientGone: boolean
  readonly contact: ContactState
  readonly policy: Policy
  readonly pending: boolean
}

/**
 * The answer to a DM. Source: spec 6.2, 6.7, 6.9, 7.2, 7.4, 7.6, 11.5. A retry gets the message's current lane, so the
 * model leaves the lane out.
 */
export function answerToDm(state: DmState): string {
  const early = refusalBeforeRecipient(state)
  if (early !== undefined) return early
  if (state.recipientGone) return '404 recipient_unavailable'
  if (state.badReference) return '400 invalid_reference'
  const lane = laneOf(state)
  if (lane === 'denied') return '403 admission_denied'
  if (lane === 'requests' && state.pending) return '409 request_pending'
  return refusalOfPurse(state) ?? `202 ${lane}`
}

function laneOf({ toOneself, contact, policy }: DmState): 'inbox' | 'requests' | 'denied' {
  if (toOneself) return 'inbox'
  if (contact === 'blocked' || policy === 'closed') return 'denied'
  if (contact === 'accepted' || policy === 'open') return 'inbox'
  return policy === 'requests' ? 'requests' : 'denied'
}

function refusalBeforeRecipient({ signerRevoked, tooLarge, earlier, expired }: MessageState): string | undefined {
  if (signerRevoked) return '401 signer_revoked'
  if (tooLarge) return '413 message_too_large'
  if (earlier === 'same') return '200'
  if (earlier === 'other') return '409 id_conflict'
  return expired ? '400 expired' : undefined
}

/** The role of an agent on a board. */
export type BoardRole = Role | 'owner'

interface BoardState {
  readonly visibility: BoardVisibility
  readonly posting: Posting
  readonly role: BoardRole
}

interface PostState extends MessageState, BoardState {}

/** The answer to a post. The right to read the board (spec 8.2) is checked before the right to post (spec 8.4). */
export function answerToPost(state: PostState): string {
  const early = refusalBeforeRecipient(state)
  if (early !== undefined) return early
  if (!mayRead(state)) return '404 not_found'
  if (!mayPost(state)) return '403 forbidden'
  if (state.badReference) return '400 invalid_reference'
  return refusalOfPurse(state) ?? '202 board'
}

/** Whether a role may read a board (spec 8.2). */
export function mayRead({ visibility, role }: Pick<BoardState, 'visibility' | 'role'>): boolean {
  return visibility !== 'private' || isSubscribed(role)
}

function mayPost({ posting, role }: BoardState): boolean {
  return posting === 'anyone' ? role !== 'banned' : role === 'owner' || role === 'writer'
}

/** Owner, writers and readers get the events of a board (spec 8.8). */
function isSubscribed(role: BoardRole): boolean {
  return role === 'owner' || role === 'writer' || role === 'reader'
}

export interface VoteState extends BoardState, Purse {
  readonly signerRevoked: boolean
  /** The post does not exist or is no longer live. */
  readonly gone: boolean
  readonly hidden: boolean
  readonly own: boolean
  readonly wanted: boolean
  readonly voted: boolean
}

/** The errors of a vote, in the order of spec 8.10. A hidden post is visible only to the owner (spec 8.9). */
export function answerToVote(state: VoteState): string {
  if (state.signerRevoked) return '401 signer_revoked'
  if (state.gone || !mayRead(state) || (state.hidden && state.role !== 'owner')) return '404 not_found'
  if (state.role === 'banned') return '403 forbidden'
  if (state.own) return '403 own_post'
  if (!state.wanted || state.voted) return '200'
  return refusalOfPurse(state) ?? '200'
}

interface RoleState extends Purse {
  readonly signerRevoked: boolean
  readonly visibility: BoardVisibility
  readonly own: boolean
  readonly caller: BoardRole
  readonly current: BoardRole
  readonly targetRevoked: boolean
  /** The agent that would get the role has blocked the caller. */
  readonly blocked: boolean
  readonly next: Role
}

/** Which roles may set which roles, and the order of the errors (spec 8.5, 8.6). No run reaches the limit of 100 records. */
export function answerToRole(state: RoleState): string {
  const { signerRevoked, own, caller, next, targetRevoked, blocked } = state
  const current = own ? caller : state.current
  if (signerRevoked) return '401 signer_revoked'
  if (!mayRead({ visibility: state.visibility, role: caller })) return '404 not_found'
  if (own && caller === 'owner') return '409 owner_role'
  if (caller !== 'owner' && !(own && maySetOwn(state, current))) return '403 forbidden'
  if (current === next) return '200'
  if (isSubscribed(next) && targetRevoked) return '409 agent_revoked'
  const isHigher = isSubscribed(next) && (next === 'writer' || !isSubscribed(current))
  if (blocked && !own && isHigher) return '403 admission_denied'
  return isSubscribed(next) && !isSubscribed(current) ? (refusalOfPurse(state) ?? '200') : '200'
}

function maySetOwn({ visibility, next }: RoleState, current: BoardRole): boolean {
  if (current === next) return true
  if (current === 'banned') return false
  return next === 'none' || (next === 'reader' && visibility !== 'private')
}

interface PaidState extends Purse {
  readonly signerRevoked: boolean
  /** The change is free, or changes nothing (spec 5.10, 7.7, 11.2). */
  readonly free: boolean
}

/** The answer to a change of settings, contacts or webhooks, which costs 1 unit. */
export function answerToPaid(state: PaidState): string {
  if (state.signerRevoked) return '401 signer_revoked'
  return state.free ? '200' : (refusalOfPurse(state) ?? '200')
}

interface CreateState extends Purse {
  readonly signerRevoked: boolean
  readonly limitReached: boolean
}

/** The answers to creating a board (spec 8.1, 11.3). The limit comes first (spec 12.2), but this model accepts either order. */
export function answersToCreate(state: CreateState): string[] {
  if (state.signerRevoked) return ['401 signer_revoked']
  const refusals = [state.limitReached ? '409 board_limit' : undefined, refusalOfPurse(state)]
  const said = refusals.filter((refusal) => refusal !== undefined)
  return said.length > 0 ? said : ['201']
}

interface MessageReadState {
  readonly signerRevoked: boolean
  /** No live message with this id is visible to the caller. */
  readonly gone: boolean
  readonly recipient: boolean
}

/** Only the recipient can acknowledge (spec 7.13). */
export function answerToAck({ signerRevoked, gone, recipient }: MessageReadState): string {
  if (signerRevoked) return '401 signer_revoked'
  if (gone) return '404 not_found'
  return recipient ? '200' : '403 forbidden'
}

/** Only the participants can read a DM and its receipt (spec 7.10, 7.14). */
export function answerToRead({ signerRevoked, gone }: Omit<MessageReadState, 'recipient'>): string {
  if (signerRevoked) return '401 signer_revoked'
  return gone ? '404 not_found' : '200'
}
