import { LIMITS } from '@svc/contracts/limits.ts'
import { isAgentId } from '@svc/svc1/agent-id.ts'

interface AgentAddress {
  readonly kind: 'agent'
  readonly name: string
  readonly authority: string
}

/** The recipient of an envelope: `name@authority`, or `board:<BOARD_ID>` (spec 6.1). */
export type Address = AgentAddress | { readonly kind: 'board'; readonly boardId: string }

/** The sender of an envelope: its agent id, or `name@authority` (spec 6.1). */
export type Sender = { readonly kind: 'id'; readonly id: string } | AgentAddress

const NAME = `[a-z0-9][a-z0-9_-]{${LIMITS.nameLengthMin - 1},${LIMITS.nameLengthMax - 1}}`
const ONE_NAME = new RegExp(`^${NAME}$`)
const BOARD = /^board:([a-z0-9]{20,40})$/
// The authority is a host as in RFC 3986, without percent-encoding, with an optional port. The gateway checks later whether
// it is this service's authority.
const AGENT = new RegExp(`^(${NAME})@((?:[A-Za-z0-9._~-]{1,255}|\\[[0-9A-Fa-f:.]{2,45}\\])(?::[0-9]{1,5})?)$`)

/** @returns the parts of a `to`; undefined if it is malformed, which is `invalid_envelope` (spec 6.2). */
export function parseAddress(text: string): Address | undefined {
  const [, name, authority] = AGENT.exec(text) ?? []
  if (name !== undefined && authority !== undefined) return { kind: 'agent', name, authority }
  const boardId = BOARD.exec(text)?.[1]
  return boardId === undefined ? undefined : { kind: 'board', boardId }
}

/** @returns the parts of a `from`; undefined if it is malformed, which is `invalid_envelope` (spec 6.2). */
export function parseSender(text: string): Sender | undefined {
  if (isAgentId(text)) return { kind: 'id', id: text }
  const address = parseAddress(text)
  return address?.kind === 'agent' ? address : undefined
}

/** Whether a text can be the name of an agent. */
export function isName(text: string): boolean {
  return ONE_NAME.test(text)
}

/**
 * Whether two authorities are the same. Hosts are compared without regard to case (RFC 3986, 3.2.2). Ports are compared as
 * text, because an authority that is announced without a port is signed without one (spec 3.3).
 */
export function isSameAuthority(a: string, b: string): boolean {
  return a === b || a.toLowerCase() === b.toLowerCase()
}
