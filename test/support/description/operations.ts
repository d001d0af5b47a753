/** The operations of spec 12.1. */
export interface SpecOperation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The path in the specification's table. */
  readonly path: string
  /**
   * `optional`: a signature may be absent, but not invalid (spec 3.1). This includes the challenge request, for which the
   * specification lists `none`.
   */
  readonly auth: 'optional' | 'required'
  readonly query: readonly string[]
  /** Headers besides those of a signature, in lower case. */
  readonly headers?: readonly string[]
  /** Content type of a success that is not JSON. */
  readonly type?: string
  /** Statuses of a success, and the status of a failed health check. */
  readonly success: readonly number[]
  /** Statuses of its own errors, besides those that every operation has. */
  readonly faults: readonly number[]
  /** A valid body; absent if the operation takes none. */
  readonly body?: unknown
}

/** Base58 of 32 bytes: the id of the first key of RFC 8032. Its secret is public, so no agent uses it. */
export const ABSENT_AGENT_ID = '3HhGPB6ht33n51YFaocqBtGePb3xqT4VgnjYbd81eeZW'
const ABSENT_PUBKEY = 'ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'
export const ABSENT_BOARD_ID = '00000000000000000000'
export const ABSENT_MESSAGE_ID = 'absent-message'
export const ABSENT_NAME = 'absent'

const ENVELOPE = {
  id: ABSENT_MESSAGE_ID,
  from: ABSENT_AGENT_ID,
  to: `${ABSENT_NAME}@127.0.0.1`,
  type: 'request',
  ts: '2026-01-01T00:00:00Z',
  body: 'hello',
  sig: Buffer.alloc(64).toString('base64'),
}
const REGISTRATION = { name: ABSENT_NAME, pubkey: ABSENT_PUBKEY, challenge: 'none', nonce: '1' }
/** Always refused, because a private board cannot let anyone post (spec 8.1). */
const BOARD = { title: 'a board', visibility: 'private', posting: 'anyone' }
/** Always refused, because the address is not public (spec 10.2). */
const WEBHOOK = { url: 'https://127.0.0.1/', secret: 'x'.repeat(32) }
const PAGE = ['after', 'limit']

export const OPERATIONS: readonly SpecOperation[] = [
  { ...operation('GET', '/.well-known/agent.json', 'optional', { success: [200, 304] }), headers: ['if-none-match'] },
  operation('GET', '/v2/health', 'optional', { success: [200, 503] }),
  operation('POST', '/v2/challenges', 'optional', { success: [201], body: { pubkey: ABSENT_PUBKEY } }),
  operation('POST', '/v2/agents/register', 'required', { success: [201], body: REGISTRATION }),
  operation('GET', '/v2/agents', 'optional', { query: PAGE }),
  operation('GET', '/v2/agents/{name}', 'optional', { faults: [404] }),
  operation('GET', '/v2/me', 'required'),
  operation('PATCH', '/v2/me', 'required', { body: {} }),
  operation('POST', '/v2/me/revoke', 'required', { body: { confirm_agent_id: ABSENT_AGENT_ID } }),
  operation('GET', '/v2/budget', 'required'),
  operation('GET', '/v2/contacts', 'required', { query: PAGE }),
  operation('PUT', '/v2/contacts/{agent}', 'required', { faults: [404], body: { state: 'blocked' } }),
  operation('POST', '/v2/messages', 'required', { success: [200, 202], faults: [403, 404], body: ENVELOPE }),
  operation('GET', '/v2/messages/{id}', 'optional', { faults: [404] }),
  operation('POST', '/v2/messages/{id}/ack', 'required', { faults: [403, 404] }),
  operation('GET', '/v2/messages/{id}/receipts', 'required', { faults: [404] }),
  operation('GET', '/v2/inbox', 'required', { query: [...PAGE, 'lane', 'unacked', 'thread_id'] }),
  operation('GET', '/v2/export', 'required', { query: [...PAGE, 'thread_id'] }),
  operation('POST', '/v2/boards', 'required', { success: [201], body: BOARD }),
  operation('GET', '/v2/boards', 'optional', { query: PAGE }),
  operation('GET', '/v2/boards/{board}', 'optional', { faults: [404] }),
  operation('GET', '/v2/boards/{board}/members', 'required', { faults: [403, 404] }),
  operation('PUT', '/v2/boards/{board}/members/{agent}', 'required', { faults: [403, 404], body: { role: 'reader' } }),
  operation('GET', '/v2/boards/{board}/messages', 'optional', { query: [...PAGE, 'thread_id'], faults: [404] }),
  operation('PUT', '/v2/boards/{board}/messages/{id}/visibility', 'required', {
    faults: [403, 404],
    body: { hidden: true },
  }),
  operation('PUT', '/v2/messages/{id}/vote', 'required', { faults: [403, 404] }),
  operation('DELETE', '/v2/messages/{id}/vote', 'required', { faults: [403, 404] }),
  operation('GET', '/v2/events', 'required', { query: PAGE }),
  {
    ...operation('GET', '/v2/stream', 'required', { query: ['after'] }),
    headers: ['last-event-id'],
    type: 'text/event-stream',
  },
  operation('PUT', '/v2/webhook', 'required', { body: WEBHOOK }),
  operation('GET', '/v2/webhook', 'required', { faults: [404] }),
  operation('DELETE', '/v2/webhook', 'required', { faults: [404] }),
]

/** A request target of the operation, with names of things that do not exist. */
export function targetOf({ path }: SpecOperation): string {
  return path
    .replace('{name}', ABSENT_NAME)
    .replace('{agent}', ABSENT_AGENT_ID)
    .replace('{board}', ABSENT_BOARD_ID)
    .replace('{id}', ABSENT_MESSAGE_ID)
}

/** The JSON of the operation's body; undefined if it takes none. */
export function bodyTextOf({ body }: SpecOperation): string | undefined {
  return body === undefined ? undefined : JSON.stringify(body)
}

function operation(
  method: SpecOperation['method'],
  path: string,
  auth: SpecOperation['auth'],
  {
    query = [],
    success = [200],
    faults = [],
    body,
  }: Partial<Pick<SpecOperation, 'query' | 'success' | 'faults' | 'body'>> = {},
): SpecOperation {
  return { method, path, auth, query, success, faults, ...(body === undefined ? {} : { body }) }
}
