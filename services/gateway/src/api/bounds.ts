/**
 * The bounds of values that the OpenAPI description shows and the schemas of the contracts do not check: another place checks
 * them, with a code of its own, or makes values that keep them. Generated clients size their types by them.
 */
import { AgentId, AgentName, MessageId } from '@svc/contracts/ids.ts'
import { LIMITS } from '@svc/contracts/limits.ts'

type Json = Readonly<Record<string, unknown>>

const AUTHORITY = '(?:[A-Za-z0-9._~-]{1,255}|\\[[0-9A-Fa-f:.]{2,45}\\])(?::[0-9]{1,5})?'
const AUTHORITY_LENGTH = 255 + ':65535'.length
const ADDRESS_LENGTH = LIMITS.nameLengthMax + '@'.length + AUTHORITY_LENGTH
const AGENT_ID = { minLength: 32, maxLength: 44 }
const MESSAGE_ID = { minLength: LIMITS.envelopeIdLengthMin, maxLength: LIMITS.envelopeIdLengthMax }
const REFERENCE = { pattern: MessageId.pattern, ...MESSAGE_ID }
const ADDRESS = { pattern: `^${AgentName.pattern?.slice(1, -1)}@${AUTHORITY}$`, maxLength: ADDRESS_LENGTH }
const PAGE = { maxItems: LIMITS.pageSizeMax }
/** The owner has no membership record. */
const MEMBERS = { maxItems: LIMITS.membershipsPerBoard + 1 }

/** By the name of a member, a component or a header. A name means the same in every object of the API. */
const BOUNDS: Readonly<Record<string, Json>> = {
  AgentId: AGENT_ID,
  AgentName: { minLength: LIMITS.nameLengthMin, maxLength: LIMITS.nameLengthMax },
  MessageId: MESSAGE_ID,
  BoardId: { minLength: 20, maxLength: 40 },
  name: { pattern: AgentName.pattern, minLength: LIMITS.nameLengthMin, maxLength: LIMITS.nameLengthMax },
  pubkey: { pattern: '^ed25519:[0-9A-Fa-f]{64}$', minLength: 72, maxLength: 72 },
  challenge: { pattern: '^[ -~]*$', maxLength: 256 },
  nonce: { pattern: '^[!-~]+$', minLength: 1, maxLength: LIMITS.powNonceLengthMax },
  confirm_agent_id: { pattern: AgentId.pattern, ...AGENT_ID },
  authority: { pattern: `^${AUTHORITY}$`, maxLength: AUTHORITY_LENGTH },
  address: ADDRESS,
  from: { maxLength: ADDRESS_LENGTH },
  to: { maxLength: ADDRESS_LENGTH },
  ts: { maxLength: '2026-01-01T12:00:00.123456789+00:00'.length },
  reply_to: REFERENCE,
  thread_id: REFERENCE,
  sig: { minLength: 88, maxLength: 88 },
  ephemeral_pub: { minLength: 44, maxLength: 44 },
  body_enc: { minLength: 4, maxLength: 4 * Math.ceil(LIMITS.postBytes / 3) },
  next_cursor: { pattern: '^[A-Za-z0-9_-]*$', maxLength: 64 },
  url: { format: 'uri', maxLength: 2_048 },
  secret: { format: 'password' },
  service: { pattern: '^[a-z-]+$', maxLength: 64 },
  version: { pattern: '^[0-9]+\\.[0-9]+\\.[0-9]+$', maxLength: 32 },
  'X-SVC-Client-Address': { maxLength: 64 },
  agents: PAGE,
  boards: PAGE,
  contacts: PAGE,
  messages: PAGE,
  events: PAGE,
  members: MEMBERS,
}

const INT32_MAX = 2 ** 31 - 1

/**
 * Adds the bounds. What the schema says itself wins.
 * @param name of the member, component or header, if the schema has one.
 */
export function bounded(name: string | undefined, schema: Json): Json {
  if (schema.type === 'integer') return boundedInteger(name, schema)
  return name === undefined || 'const' in schema ? schema : { ...BOUNDS[name], ...schema }
}

/** No integer of the API is negative, and all are exact as doubles (RFC 7493, 2.2), except `ttl`, which has no upper limit (spec 6.1). */
function boundedInteger(name: string | undefined, schema: Json): Json {
  const { maximum = Number.MAX_SAFE_INTEGER } = schema
  const format = (maximum as number) > INT32_MAX ? 'int64' : 'int32'
  return { minimum: 0, ...(name === 'ttl' ? {} : { maximum }), ...schema, format }
}
