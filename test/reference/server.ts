// A second implementation of the server, written from docs/specification alone. It shares no code with the service.
// It keeps everything in memory, in one process. Comments name the section of the specification that a line follows.
// Left out: suspension, restore, erasure and takedown (spec 12.4), which are the operator's.
import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { type AddressInfo, BlockList, isIP, isIPv6 } from 'node:net'
import type { Duplex } from 'node:stream'
import { ed25519 } from '@noble/curves/ed25519.js'
import bs58 from 'bs58'

// ======== Values of the specification ================================================================================
const SERVICE = 'signed-agent-messaging'
const VERSION = '2.0.0'
const DAY_SECONDS = 86_400

/** Values that an operator chooses (spec 3.15, 3.16, 3.18, 5.4, 5.6, 9.7, 10.7, 11.7). */
const DEFAULTS = {
  port: 0, // A free one.
  authority: '', // The address that the server listens on.
  difficulty: 4, // The specification says 18. Tests register many agents.
  reservedNames: ['admin', 'support', 'postmaster', 'security'],
  retentionSeconds: 30 * DAY_SECONDS,
  dailyFreeUnits: 100,
  dailyHardLimit: 1000,
  dailyIntroductions: 10,
  streamSeconds: 300,
  streamSilenceSeconds: 15,
  streamsPerProcess: 200,
  requestsPerSecond: 100,
  requestsBurst: 200,
  registrationsPerSecond: 1,
  registrationsBurst: 30,
  trustedProxies: [] as string[],
  allowedOrigins: [] as string[],
  webhookRetrySeconds: [30, 120, 600, 3600],
  clock: () => Date.now(), // Milliseconds since the Unix epoch.
}
type ReferenceOptions = typeof DEFAULTS

// Limits that nobody configures, under their names in the manifest (spec 11.7).
const LIMITS = {
  page_size_min: 1,
  page_size_max: 100,
  page_size_default: 50,
  http_tolerance_seconds: 60,
  http_nonce_hex_min: 32,
  http_nonce_hex_max: 128,
  challenge_seconds: 300,
  name_length_min: 3,
  name_length_max: 32,
  envelope_id_length_min: 8,
  envelope_id_length_max: 80,
  dm_characters: 4000,
  dm_bytes: 16_384,
  post_characters: 16_000,
  post_bytes: 32_768,
  request_bytes: 98_304,
  message_past_seconds: 300,
  message_future_seconds: 60,
  board_title_characters: 120,
  board_description_characters: 2000,
  boards_per_owner: 20,
  memberships_per_board: 100,
  streams_per_identity: 2,
  webhook_secret_length_min: 32,
  webhook_secret_length_max: 256,
}
const NONCE_SECONDS = 600 // spec 3.7
const JSON_DEPTH = 64 // spec 2.5
const ATTEMPT_MS = 10_000 // spec 10.7
const BOARD_UNITS = 10 // spec 11.2

const NAME = /^[a-z0-9][a-z0-9_-]{2,31}$/ // spec 2.8
const AUTHORITY = /^([A-Za-z0-9._~-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?$/ // spec 2.8
const BOARD_ID = /^[a-z0-9]{20,40}$/ // spec 2.9
const ENVELOPE_ID = /^[A-Za-z0-9_-]{8,80}$/ // spec 2.10
const PUBKEY = /^ed25519:[0-9A-Fa-f]{64}$/ // spec 2.2
const POW_NONCE = /^[\x21-\x7e]{1,128}$/ // spec 5.5
const PAGE_LIMIT = /^([1-9][0-9]?|100)$/ // spec 3.12
const TIMESTAMP = /^(0|[1-9][0-9]{0,14})$/ // spec 3.2
const NONCE = /^([0-9A-Fa-f]{2}){16,64}$/ // spec 3.2
const CREDENTIALS = /^SVC ([^:]+):([^:]+)$/ // spec 3.2

// Codes with their status and the text that people read (spec 4.3).
const CODES = {
  invalid_json: [400, 'the body is not I-JSON'],
  invalid_request: [400, 'the request does not fit the operation'],
  invalid_envelope: [400, 'the envelope is malformed'],
  invalid_pubkey: [400, 'the key is not a canonical Ed25519 key of prime order'],
  invalid_name: [400, 'the name has a wrong form or is reserved'],
  invalid_reference: [400, 'reply_to or thread_id names no message that this envelope may refer to'],
  invalid_cursor: [400, 'after is not a place in this list'],
  invalid_webhook_url: [400, 'the URL is not a public https URL on port 443'],
  challenge_invalid: [400, 'the challenge is malformed, foreign, for another key, or expired'],
  pow_invalid: [400, 'the proof of work does not have the required zero bits'],
  envelope_timestamp_out_of_range: [400, 'ts is outside the window'],
  expired: [400, 'ts + ttl is not in the future'],
  recipient_not_local: [400, 'the authority of the recipient is another one'],
  confirmation_mismatch: [400, 'confirm_agent_id is not the id of the caller'],
  unauthenticated: [401, 'a signature is missing or its headers are malformed'],
  timestamp_out_of_range: [401, 'X-SVC-Timestamp is more than 60 seconds off'],
  signer_unknown: [401, 'no agent has this id'],
  signer_revoked: [401, 'the agent was revoked'],
  signature_invalid: [401, 'the signature does not match the request and the key'],
  forbidden: [403, 'the caller may not do this'],
  sender_mismatch: [403, 'from is neither the id nor the address of the caller'],
  admission_denied: [403, 'the recipient does not admit this'],
  own_post: [403, 'an author cannot vote on its own post'],
  not_found: [404, 'not found'],
  recipient_unavailable: [404, 'no agent has this address, or it is revoked'],
  nonce_replayed: [409, 'the nonce was used before'],
  id_conflict: [409, 'the envelope id was used for another envelope'],
  name_taken: [409, 'the name belongs to another key'],
  key_registered: [409, 'the key is registered under another name'],
  challenge_consumed: [409, 'the challenge was used before'],
  request_pending: [409, 'an earlier message still waits for the recipient'],
  board_limit: [409, 'the owner has 20 boards'],
  membership_limit: [409, 'the board has 100 membership records'],
  owner_role: [409, 'an owner cannot change its own role'],
  agent_revoked: [409, 'a revoked agent cannot get a role'],
  body_too_large: [413, 'the body is over 96 KiB'],
  message_too_large: [413, 'the payload is over the limit of its kind'],
  unsupported_media_type: [415, 'the body is not application/json'],
  rate_limited: [429, 'too many requests from this client address'],
  budget_exhausted: [429, 'free units and credits do not cover the cost'],
  hard_limit_reached: [429, 'the cost would pass the daily ceiling'],
  introduction_limit_reached: [429, 'no introductions are left today'],
  stream_limit: [429, 'the agent has two open streams'],
  stream_capacity: [429, 'no process has room for another stream'],
  internal: [500, 'the server failed'],
} as const satisfies Record<string, readonly [number, string]>

type Code = keyof typeof CODES

class Fault extends Error {
  readonly code: Code
  readonly retryAfterSeconds: number
  constructor(code: Code, retryAfterSeconds = 1) {
    super(CODES[code][1])
    this.code = code
    this.retryAfterSeconds = retryAfterSeconds
  }
}

function fail(code: Code, retryAfterSeconds?: number): never {
  throw new Fault(code, retryAfterSeconds)
}

// ======== Operations (spec 12.1) =====================================================================================
interface Operation {
  at: string
  signature: 'required' | 'optional'
  success: number
  run: (service: Service, call: Call) => Answer
  query?: readonly string[] // spec 3.12
  body?: Members | 'envelope' // Without it the operation takes no body.
  keyInBody?: true // The key in the body signs the request (spec 3.8).
}
type Member = { required: boolean; fits: (value: unknown) => boolean }
type Members = Record<string, Member>

// What the value of a member may be.
const isText = (value: unknown): value is string => typeof value === 'string'
const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean'
const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const codePoints = (text: string): number => [...text].length // spec 2.11
const oneOf =
  (...texts: string[]) =>
  (value: unknown): boolean =>
    isText(value) && texts.includes(value)
const textOf =
  (min: number, max: number) =>
  (value: unknown): boolean =>
    isText(value) && codePoints(value) >= min && codePoints(value) <= max
const must = (fits: Member['fits']): Member => ({ required: true, fits })
const may = (fits: Member['fits']): Member => ({ required: false, fits })

const PAGE = ['limit', 'after']
const INBOX = [...PAGE, 'lane', 'unacked', 'thread_id']
const THREAD = [...PAGE, 'thread_id']
const REGISTRATION = { name: must(isText), pubkey: must(isText), challenge: must(isText), nonce: must(isText) }
const SETTINGS = { inbox_policy: may(oneOf('requests', 'open', 'contacts', 'closed')), discoverable: may(isBoolean) }
const BOARD = {
  title: must(textOf(1, LIMITS.board_title_characters)), // spec 8.1
  description: may(textOf(0, LIMITS.board_description_characters)),
  visibility: must(oneOf('public', 'unlisted', 'private')),
  posting: may(oneOf('members', 'anyone')),
}
const SECRET = textOf(LIMITS.webhook_secret_length_min, LIMITS.webhook_secret_length_max) // spec 10.1
const CONTACT = { state: must(oneOf('none', 'accepted', 'blocked')) } // spec 7.7
const ROLE = { role: must(oneOf('reader', 'writer', 'banned', 'none')) } // spec 8.5

// biome-ignore format: a table is easier to read with one row on a line
const OPERATIONS: readonly Operation[] = [
  { at: 'GET /.well-known/agent.json', signature: 'optional', success: 200, run: getManifest },
  { at: 'GET /openapi.json', signature: 'optional', success: 200, run: getOpenapi },
  { at: 'GET /v2/health', signature: 'optional', success: 200, run: getHealth },
  { at: 'POST /v2/challenges', signature: 'optional', success: 201, run: createChallenge, body: { pubkey: must(isText) }, keyInBody: true },
  { at: 'POST /v2/agents/register', signature: 'required', success: 201, run: register, body: REGISTRATION, keyInBody: true },
  { at: 'GET /v2/agents', signature: 'optional', success: 200, run: listAgents, query: PAGE },
  { at: 'GET /v2/agents/{name}', signature: 'optional', success: 200, run: getAgent },
  { at: 'GET /v2/me', signature: 'required', success: 200, run: getMe },
  { at: 'PATCH /v2/me', signature: 'required', success: 200, run: changeSettings, body: SETTINGS },
  { at: 'POST /v2/me/revoke', signature: 'required', success: 200, run: revoke, body: { confirm_agent_id: must(isText) } },
  { at: 'GET /v2/budget', signature: 'required', success: 200, run: getBudget },
  { at: 'GET /v2/contacts', signature: 'required', success: 200, run: listContacts, query: PAGE },
  { at: 'PUT /v2/contacts/{agent}', signature: 'required', success: 200, run: setContact, body: CONTACT },
  { at: 'POST /v2/messages', signature: 'required', success: 202, run: send, body: 'envelope' },
  { at: 'GET /v2/messages/{id}', signature: 'optional', success: 200, run: getMessage },
  { at: 'POST /v2/messages/{id}/ack', signature: 'required', success: 200, run: acknowledge },
  { at: 'GET /v2/messages/{id}/receipts', signature: 'required', success: 200, run: getReceipt },
  { at: 'PUT /v2/messages/{id}/vote', signature: 'required', success: 200, run: vote },
  { at: 'DELETE /v2/messages/{id}/vote', signature: 'required', success: 200, run: removeVote },
  { at: 'GET /v2/inbox', signature: 'required', success: 200, run: listInbox, query: INBOX },
  { at: 'GET /v2/export', signature: 'required', success: 200, run: listExport, query: THREAD },
  { at: 'POST /v2/boards', signature: 'required', success: 201, run: createBoard, body: BOARD },
  { at: 'GET /v2/boards', signature: 'optional', success: 200, run: listBoards, query: PAGE },
  { at: 'GET /v2/boards/{board}', signature: 'optional', success: 200, run: getBoard },
  { at: 'GET /v2/boards/{board}/members', signature: 'required', success: 200, run: listMembers },
  { at: 'PUT /v2/boards/{board}/members/{agent}', signature: 'required', success: 200, run: setRole, body: ROLE },
  { at: 'GET /v2/boards/{board}/messages', signature: 'optional', success: 200, run: listPosts, query: THREAD },
  { at: 'PUT /v2/boards/{board}/messages/{id}/visibility', signature: 'required', success: 200, run: setHidden, body: { hidden: must(isBoolean) } },
  { at: 'GET /v2/events', signature: 'required', success: 200, run: listEvents, query: PAGE },
  { at: 'GET /v2/stream', signature: 'required', success: 200, run: openStream, query: ['after'] },
  { at: 'PUT /v2/webhook', signature: 'required', success: 200, run: setWebhook, body: { url: must(isText), secret: must(SECRET) } },
  { at: 'GET /v2/webhook', signature: 'required', success: 200, run: getWebhook },
  { at: 'DELETE /v2/webhook', signature: 'required', success: 200, run: deleteWebhook },
]

const ROUTES = OPERATIONS.map((operation) => {
  const [method = '', path = ''] = operation.at.split(' ')
  return { operation, method, path, segments: path.split('/').slice(1) }
})

// What a segment of a path may be (spec 3.11).
const SEGMENT_KINDS: Record<string, (text: string) => boolean> = {
  '{name}': (text) => NAME.test(text),
  '{agent}': isAgentId,
  '{board}': (text) => BOARD_ID.test(text),
  '{id}': (text) => ENVELOPE_ID.test(text),
}

// ======== State ======================================================================================================
type Point = InstanceType<typeof ed25519.Point>
type JsonObject = Record<string, unknown>
type Lane = 'inbox' | 'requests' | 'board'
type Role = 'reader' | 'writer' | 'banned' | 'none'

type Key = { text: string; bytes: Uint8Array; point: Point }
type AgentEvent = { cursor: number; kind: Lane; message: Message }
type Stream = { position: number; pump: () => void; end: () => void }
type Webhook = { url: string; secret: string; pending: Set<Job>; failed: number }
type Job = { id: string; message: Message; attempts: number; timer?: NodeJS.Timeout }
type Bucket = { tokens: number; at: number }

class Agent {
  revoked = false
  inboxPolicy = 'requests' // spec 5.8
  discoverable = false // spec 5.8
  contacts = new Map<string, 'accepted' | 'blocked'>()
  requests = new Map<string, Message>() // The pending request of each sender, by its id (spec 7.6).
  introduced = new Set<string>() // Ids of the agents that this one has sent a DM to (spec 11.5).
  events: AgentEvent[] = []
  latestCursor = 0
  streams = new Set<Stream>()
  budget = { day: 0, units: 0, introductions: 0 }
  credits = 0
  webhook: Webhook | undefined
  readonly id: string
  readonly name: string
  readonly key: Key
  readonly createdAt: number
  constructor(name: string, key: Key, createdAt: number) {
    this.id = agentIdOf(key)
    this.name = name
    this.key = key
    this.createdAt = createdAt
  }
}

type Message = ReturnType<typeof createMessage> & { to?: Agent; board?: Board }

interface Board {
  id: string
  owner: Agent
  visibility: unknown
  posting: unknown
  details: JsonObject
  roles: Map<string, Role>
  posts: Message[]
}

class Service {
  secret = randomBytes(32)
  agents = new Map<string, Agent>()
  names = new Map<string, Agent>()
  messages = new Map<string, Message>()
  lastPosition = 0
  boards = new Map<string, Board>()
  nonces = new Map<string, Map<string, number>>() // Hex digits of each signer, with the time until which they count.
  consumedChallenges = new Set<string>()
  grants = new Map<string, string>()
  buckets = new Map<string, Bucket>()
  streams = new Set<Stream>()
  readonly options: ReferenceOptions
  constructor(options: ReferenceOptions) {
    this.options = options
  }
}

interface Call {
  headers: Headers
  method: string
  target: string // Line 4 of the signed string, with one character for each byte.
  query: Map<string, string>
  params: Record<string, string>
  operation: Operation | undefined
  client: string
  body: Buffer
  value: JsonObject
  caller?: Agent | undefined
}

type Answer = {
  body?: unknown
  status?: number
  headers?: OutgoingHttpHeaders
  stream?: (response: ServerResponse) => void
}

type Headers = (name: string) => string[]

function seconds(service: Service): number {
  return Math.floor(service.options.clock() / 1000)
}

// ======== Chapter 2: formats =========================================================================================
// spec 2.2
function parseKey(text: string): Key | undefined {
  if (!PUBKEY.test(text)) return undefined
  const hex = text.slice('ed25519:'.length).toLowerCase()
  const bytes = Buffer.from(hex, 'hex')
  try {
    const point = ed25519.Point.fromBytes(bytes) // Refuses a y that is not below p.
    if (point.is0()) return undefined // The identity.
    if (!point.isTorsionFree()) return undefined // Small or mixed order.
    return { text: `ed25519:${hex}`, bytes, point }
  } catch {
    return undefined
  }
}

// spec 2.3
function agentIdOf(key: Key): string {
  return bs58.encode(sha256(key.bytes))
}

function isAgentId(text: string): boolean {
  if (text.length < 32 || text.length > 44) return false
  return bs58.decodeUnsafe(text)?.length === 32 // spec 2.3
}

/** The bytes of a base64 text, or undefined if the text is not canonical (spec 2.4). */
function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

function sha256(data: string | Uint8Array): Buffer {
  return createHash('sha256').update(data).digest()
}

// spec 2.7
function checkMembers(value: unknown, members: Members): JsonObject {
  if (!isObject(value)) throw new Fault('invalid_request')
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(members, name)) throw new Fault('invalid_request') // An undefined member.
  }
  for (const [name, member] of Object.entries(members)) {
    const present = Object.hasOwn(value, name)
    if (member.required && !present) throw new Fault('invalid_request')
    if (present && !member.fits(value[name])) throw new Fault('invalid_request')
  }
  return value
}

// I-JSON (spec 2.5)
const WHITE_SPACE = /[ \t\n\r]*/y
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/sy // JSON.parse then refuses wrong escapes and control characters.
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const LITERAL = /true|false|null/y

type Reader = { text: string; at: number }

function parseJson(bytes: Uint8Array): unknown {
  const reader = { text: decodeUtf8(bytes, 'invalid_json'), at: 0 } // A byte order mark stays, and is no JSON.
  take(reader, WHITE_SPACE)
  const value = readValue(reader, 0)
  take(reader, WHITE_SPACE)
  if (reader.at !== reader.text.length) throw new Fault('invalid_json')
  return value
}

function decodeUtf8(bytes: Uint8Array, code: Code): string {
  return orFail(code, () => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
}

function orFail<T>(code: Code, work: () => T): T {
  try {
    return work()
  } catch {
    return fail(code)
  }
}

function take(reader: Reader, pattern: RegExp): string | undefined {
  pattern.lastIndex = reader.at
  const found = pattern.exec(reader.text)?.[0]
  reader.at += found?.length ?? 0
  return found
}

/** Takes one character, with the white space around it. */
function takeMark(reader: Reader, mark: string): boolean {
  take(reader, WHITE_SPACE)
  if (reader.text[reader.at] !== mark) return false
  reader.at++
  take(reader, WHITE_SPACE)
  return true
}

function readValue(reader: Reader, depth: number): unknown {
  const first = reader.text[reader.at]
  if (first === '{') return readObject(reader, depth + 1)
  if (first === '[') return readArray(reader, depth + 1)
  if (first === '"') return readString(reader)
  const literal = take(reader, LITERAL)
  return literal === undefined ? readNumber(reader) : JSON.parse(literal)
}

function readNumber(reader: Reader): number {
  const value = Number(take(reader, NUMBER) ?? fail('invalid_json'))
  if (!Number.isFinite(value)) throw new Fault('invalid_json') // Beyond the range of a double.
  return value
}

function readString(reader: Reader): string {
  const text = take(reader, STRING) ?? fail('invalid_json')
  const value: string = orFail('invalid_json', () => JSON.parse(text))
  if (!value.isWellFormed()) throw new Fault('invalid_json') // A lone surrogate.
  return value
}

function readArray(reader: Reader, depth: number): unknown[] {
  if (depth > JSON_DEPTH) throw new Fault('invalid_json') // An array too many.
  const values: unknown[] = []
  takeMark(reader, '[')
  if (takeMark(reader, ']')) return values
  do values.push(readValue(reader, depth))
  while (takeMark(reader, ','))
  if (!takeMark(reader, ']')) throw new Fault('invalid_json')
  return values
}

function readObject(reader: Reader, depth: number): JsonObject {
  if (depth > JSON_DEPTH) throw new Fault('invalid_json') // An object too many.
  const value: JsonObject = {}
  takeMark(reader, '{')
  if (takeMark(reader, '}')) return value
  do {
    const name = readString(reader)
    if (name === '__proto__') throw new Fault('invalid_json')
    if (Object.hasOwn(value, name)) throw new Fault('invalid_json') // A duplicate name.
    if (!takeMark(reader, ':')) throw new Fault('invalid_json')
    value[name] = readValue(reader, depth)
  } while (takeMark(reader, ','))
  if (!takeMark(reader, '}')) throw new Fault('invalid_json')
  return value
}

/** Canonical JSON (spec 2.6, RFC 8785). */
function jcs(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(jcs).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value)
  const names = Object.keys(value).sort() // By UTF-16 code units.
  return `{${names.map((name) => `${JSON.stringify(name)}:${jcs(value[name])}`).join(',')}}`
}

// ======== Chapter 3: requests ========================================================================================
async function handle(service: Service, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const cors = corsHeaders(service, headersOf(request)('origin'))
  try {
    const answer = await answerRequest(service, request, response)
    if (answer.stream !== undefined) {
      response.writeHead(200, { ...commonHeaders(service), ...cors, ...answer.headers })
      return answer.stream(response)
    }
    respond(service, response, { ...answer, headers: { ...cors, ...answer.headers } })
  } catch (error) {
    if (response.headersSent || request.socket.destroyed) return void response.destroy()
    if (!(error instanceof Fault)) console.error(error)
    respondFault(service, response, error instanceof Fault ? error : new Fault('internal'), cors)
  }
}

// spec 3.5
async function answerRequest(service: Service, request: IncomingMessage, response: ServerResponse): Promise<Answer> {
  const headers = headersOf(request)
  const target = targetOf(request.url ?? '')
  const method = request.method ?? ''
  const [path = '', query] = splitOnce(target, '?')
  const client = clientAddress(service, request.socket.remoteAddress ?? '', headers('x-forwarded-for'))
  const { operation, params } = route(method, path)
  checkRates(service, client, operation) // Step 1.
  checkHost(request, headers) // Step 2.
  const body = await readBody(request, response) // Step 3.
  const call: Call = { headers, method, target, query: new Map(), params, operation, client, body, value: {} }
  authenticate(service, call) // Steps 4 to 9.
  if (isPreflight(service, call)) return { status: 204, headers: PREFLIGHT_HEADERS }
  if (operation === undefined || !paramsFit(params)) throw new Fault('not_found') // Step 10.
  call.query = parseQuery(query ?? '', operation)
  if (operation.run === openStream) checkLastEventId(headers('last-event-id'))
  call.value = readValueOfBody(call, operation)
  return { status: operation.success, ...operation.run(service, call) } // Step 11.
}

function headersOf(request: IncomingMessage): Headers {
  const all = request.rawHeaders
  return (name) => all.filter((_, index) => index % 2 === 1 && all[index - 1]?.toLowerCase() === name)
}

/** The path and the query of a request line that may have a scheme and an authority (spec 3.3). */
function targetOf(url: string): string {
  const target = url.replace(/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]*/, '')
  if (target === url) return url
  return target.startsWith('/') ? target : `/${target}`
}

function splitOnce(text: string, mark: string): [string, string | undefined] {
  const at = text.indexOf(mark)
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
}

// Paths (spec 3.11)
function route(method: string, path: string): Pick<Call, 'operation' | 'params'> {
  const segments = path.split('/').slice(1).map(decodeSegment)
  if (!path.startsWith('/') || segments.includes(undefined)) return { operation: undefined, params: {} }
  const fitting = ROUTES.find(
    (known) =>
      known.method === method && // A method in lower case is another method.
      known.segments.length === segments.length &&
      known.segments.every((segment, index) => segment in SEGMENT_KINDS || segment === segments[index]),
  )
  const params = fitting?.segments.map((segment, index) => [segment, segments[index] ?? ''])
  return { operation: fitting?.operation, params: Object.fromEntries(params ?? []) }
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodePercent(segment)
  } catch {
    return undefined
  }
}

function paramsFit(params: Record<string, string>): boolean {
  return Object.entries(params).every(([segment, text]) => SEGMENT_KINDS[segment]?.(text) ?? true)
}

function param(call: Call, name: 'name' | 'agent' | 'board' | 'id'): string {
  return call.params[`{${name}}`] ?? ''
}

/** Decodes a text that has one character for each byte. */
function decodePercent(text: string): string {
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) throw new Fault('invalid_request') // spec 3.12
  const bytes = text.replace(/%(..)/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
  return decodeUtf8(Buffer.from(bytes, 'latin1'), 'invalid_request') // spec 3.12
}

// Query (spec 3.12)
const QUERY_VALUES: Record<string, (text: string) => boolean> = {
  limit: (text) => PAGE_LIMIT.test(text),
  lane: oneOf('inbox', 'requests'),
  unacked: oneOf('true', 'false'),
  after: isText,
  thread_id: isText,
}

function parseQuery(query: string, operation: Operation): Map<string, string> {
  const found = new Map<string, string>()
  for (const pair of query.split('&')) {
    if (pair === '') continue // Empty pairs are ignored.
    const [name, value = ''] = splitOnce(pair, '=')
    const decoded = decodePercent(name.replaceAll('+', ' '))
    if (found.has(decoded)) throw new Fault('invalid_request') // A repeated parameter.
    if (!operation.query?.includes(decoded)) throw new Fault('invalid_request') // An undefined parameter.
    found.set(decoded, decodePercent(value.replaceAll('+', ' ')))
  }
  for (const [name, value] of found) if (!QUERY_VALUES[name]?.(value)) throw new Fault('invalid_request')
  if (operation.run === listEvents || operation.run === openStream) parseEventCursor(found.get('after') ?? '0')
  return found
}

// Body (spec 3.9, 3.10)
function readBody(request: IncomingMessage, response: ServerResponse): Promise<Buffer> {
  const declared = Number(request.headers['content-length'] ?? 0)
  if (declared > LIMITS.request_bytes) return Promise.reject(new Fault('body_too_large'))
  if (request.headers.expect?.toLowerCase() === '100-continue') response.writeContinue()
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > LIMITS.request_bytes) return reject(new Fault('body_too_large'))
      chunks.push(chunk)
    })
    request.on('end', () => resolve(Buffer.concat(chunks)))
    request.on('error', reject)
    request.on('close', () => reject(new Error('the client left before the body was read')))
  })
}

function readValueOfBody(call: Call, operation: Operation): JsonObject {
  if (operation.body === undefined) {
    if (call.body.length > 0) throw new Fault('invalid_request') // spec 3.10
    return {}
  }
  const value = parseBody(call)
  if (operation.body !== 'envelope') return checkMembers(value, operation.body)
  if (!isObject(value)) throw new Fault('invalid_envelope') // spec 2.7
  return value
}

function parseBody(call: Call): unknown {
  if (call.body.length > 0) checkMediaType(call)
  return parseJson(call.body)
}

function checkMediaType(call: Call): void {
  const types = call.headers('content-type')
  if (types.length !== 1) throw new Fault('unsupported_media_type')
  const [type = '', ...parameters] = splitParameters(types[0] ?? '')
  if (type.toLowerCase() !== 'application/json') throw new Fault('unsupported_media_type')
  for (const parameter of parameters) {
    const [name, value = ''] = splitOnce(parameter.toLowerCase(), '=')
    if (name !== 'charset') continue // Other parameters are ignored.
    if (value !== 'utf-8' && value !== '"utf-8"') throw new Fault('unsupported_media_type')
  }
  const [coding = 'identity', ...others] = call.headers('content-encoding')
  if (coding.trim().toLowerCase() !== 'identity' || others.length > 0) throw new Fault('unsupported_media_type')
}

/** Splits at semicolons that stand outside of quotation marks. */
function splitParameters(text: string): string[] {
  return (text.match(/(?:"(?:\\.|[^"\\])*"|[^;])+/g) ?? []).map((part) => part.trim())
}

// Host (spec 3.13)
function checkHost(request: IncomingMessage, headers: Headers): void {
  const hosts = headers('host').length
  if (hosts > 1 || (hosts === 0 && request.httpVersion !== '1.0')) throw new Fault('invalid_request')
}

// Authentication (spec 3.1 to 3.8)
type Credentials = { agentId: string; signature: Buffer; timestamp: string; nonce: string }

function authenticate(service: Service, call: Call): void {
  const credentials = readCredentials(call)
  if (credentials === undefined) {
    if (call.operation?.signature === 'required') throw new Fault('unauthenticated') // spec 3.5
    return
  }
  checkTimestamp(service, credentials)
  const agent = service.agents.get(credentials.agentId)
  const key = call.operation?.keyInBody ? keyInBody(call, credentials) : (agent?.key ?? fail('signer_unknown'))
  const signed = signedString(service, call, credentials)
  if (!verify(key, signed, credentials.signature)) throw new Fault('signature_invalid')
  const isNew = consumeNonce(service, credentials) // A valid signature consumes the nonce, whatever follows.
  if (agent?.revoked && call.operation?.run !== register) throw new Fault('signer_revoked')
  if (!isNew) throw new Fault('nonce_replayed')
  call.caller = agent
}

// spec 3.2
function readCredentials(call: Call): Credentials | undefined {
  const authorizations = call.headers('authorization')
  if (authorizations.length === 0) return undefined
  const timestamps = call.headers('x-svc-timestamp')
  const nonces = call.headers('x-svc-nonce')
  if (authorizations.length > 1) throw new Fault('unauthenticated') // Sent twice.
  if (timestamps.length > 1) throw new Fault('unauthenticated') // Sent twice.
  if (nonces.length > 1) throw new Fault('unauthenticated') // Sent twice.
  const [timestamp = '', nonce = ''] = [timestamps[0], nonces[0]]
  const [, agentId = '', base64 = ''] = CREDENTIALS.exec(authorizations[0] ?? '') ?? []
  const signature = decodeBase64(base64)
  if (!isAgentId(agentId)) throw new Fault('unauthenticated')
  if (signature === undefined) throw new Fault('unauthenticated') // spec 2.4
  if (signature.length !== 64) throw new Fault('unauthenticated')
  if (!TIMESTAMP.test(timestamp)) throw new Fault('unauthenticated')
  if (!NONCE.test(nonce)) throw new Fault('unauthenticated')
  return { agentId, signature, timestamp, nonce }
}

// spec 3.6
function checkTimestamp(service: Service, credentials: Credentials): void {
  const distance = Math.abs(Number(credentials.timestamp) - seconds(service))
  if (distance > LIMITS.http_tolerance_seconds) throw new Fault('timestamp_out_of_range')
}

// spec 3.8
function keyInBody(call: Call, credentials: Credentials): Key {
  const value = parseBody(call)
  if (!isObject(value) || !isText(value.pubkey)) throw new Fault('invalid_request')
  const key = parseKey(value.pubkey) ?? fail('invalid_pubkey')
  if (agentIdOf(key) !== credentials.agentId) throw new Fault('signature_invalid')
  return key
}

// spec 3.3
function signedString(service: Service, call: Call, credentials: Credentials): Buffer {
  const { timestamp, nonce } = credentials
  const hash = sha256(call.body).toString('hex')
  const lines = ['SVC1', service.options.authority, call.method, call.target, timestamp, nonce, hash]
  return Buffer.from(lines.join('\n'), 'latin1')
}

// spec 3.4
function verify(key: Key, message: Uint8Array, signature: Uint8Array): boolean {
  const { BASE, Fn } = ed25519.Point
  const r = signature.subarray(0, 32)
  const s = bigintOf(signature.subarray(32))
  if (s >= Fn.ORDER) return false // Rule 2.
  const k = bigintOf(createHash('sha512').update(r).update(key.bytes).update(message).digest()) % Fn.ORDER
  const expected = BASE.multiplyUnsafe(s).subtract(key.point.multiplyUnsafe(k))
  if (expected.isSmallOrder()) return false // Rule 3: R has these bytes, or rule 4 fails.
  return Buffer.from(expected.toBytes()).equals(r) // Rule 4.
}

function bigintOf(littleEndian: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(littleEndian).reverse().toString('hex')}`)
}

// spec 3.7
function consumeNonce(service: Service, credentials: Credentials): boolean {
  const now = seconds(service)
  const known = getOrAdd(service.nonces, credentials.agentId, () => new Map<string, number>())
  for (const [nonce, until] of known) {
    if (until > now) break // They stand in the order of their use.
    known.delete(nonce)
  }
  const nonce = credentials.nonce.toLowerCase() // The bytes count, not the digits.
  if (known.has(nonce)) return false
  known.set(nonce, now + NONCE_SECONDS)
  return true
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const found = map.get(key)
  if (found !== undefined) return found
  const created = create()
  map.set(key, created)
  return created
}

function callerOf(call: Call): Agent {
  return call.caller ?? fail('internal')
}

// Answers (spec 3.14, 4.1, 4.2)
function commonHeaders(service: Service): OutgoingHttpHeaders {
  return { Date: new Date(service.options.clock()).toUTCString(), 'X-Request-Id': randomUUID() }
}

function respond(service: Service, response: ServerResponse, answer: Answer): void {
  const bytes = answer.body === undefined ? '' : JSON.stringify(answer.body)
  const hasBody = bytes !== '' && response.req.method !== 'HEAD'
  const type = hasBody ? { 'Content-Type': 'application/json; charset=utf-8' } : {}
  const length = answer.status === 204 ? {} : { 'Content-Length': Buffer.byteLength(bytes) }
  response.writeHead(answer.status ?? 200, { ...commonHeaders(service), ...type, ...length, ...answer.headers })
  response.end(bytes)
}

function respondFault(service: Service, response: ServerResponse, fault: Fault, cors: OutgoingHttpHeaders): void {
  const status = CODES[fault.code][0]
  const retryAfter = status === 429 ? { 'Retry-After': String(fault.retryAfterSeconds) } : {}
  const body = { error: { code: fault.code, message: fault.message } }
  if (fault.code === 'body_too_large') leaveBody(response)
  respond(service, response, { status, body, headers: { ...cors, ...retryAfter } })
}

// A socket that is closed with unread bytes is reset, and the client may lose the answer. So a bounded part of the rest of
// the body is thrown away before the connection ends (spec 3.9).
const LEFTOVER_BYTES = 262_144
const LEFTOVER_MS = 500

function leaveBody(response: ServerResponse): void {
  const request = response.req
  let bytes = 0
  request.removeAllListeners('data')
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > LEFTOVER_BYTES) request.socket.destroy()
  })
  response.on('finish', () => setTimeout(() => request.complete || request.socket.destroy(), LEFTOVER_MS).unref())
}

// Rates (spec 3.15)
function checkRates(service: Service, client: string, operation: Operation | undefined): void {
  const { requestsPerSecond, requestsBurst, registrationsPerSecond, registrationsBurst } = service.options
  takeToken(service, `all ${client}`, requestsPerSecond, requestsBurst)
  if (operation?.keyInBody) takeToken(service, `registrations ${client}`, registrationsPerSecond, registrationsBurst)
}

function takeToken(service: Service, name: string, perSecond: number, burst: number): void {
  const now = service.options.clock() / 1000
  const bucket = getOrAdd(service.buckets, name, () => ({ tokens: burst, at: now }))
  bucket.tokens = Math.min(burst, bucket.tokens + (now - bucket.at) * perSecond)
  bucket.at = now
  if (bucket.tokens < 1) throw new Fault('rate_limited', Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond)))
  bucket.tokens--
}

// Client address (spec 3.16)
function clientAddress(service: Service, peer: string, forwarded: string[]): string {
  const trusted = service.options.trustedProxies.map(comparableAddress)
  const entries = forwarded.flatMap((header) => header.split(',')).map((entry) => entry.trim())
  let client = comparableAddress(peer)
  while (trusted.includes(client)) {
    const entry = entries.pop() ?? ''
    if (isIP(entry) === 0) break // The client is the proxy that passed it on.
    client = comparableAddress(entry)
  }
  return isIPv6(client) ? client.split(':').slice(0, 4).join(':') : client // The first 64 bits.
}

function comparableAddress(address: string): string {
  const plain = address.replace(/%.*$/, '').replace(/^::ffff:(?=[0-9.]+$)/i, '')
  return isIPv6(plain) ? ipv6Groups(plain).join(':') : plain
}

/** The eight groups of an IPv6 address in hexadecimal, without leading zeros. */
function ipv6Groups(address: string): string[] {
  const short = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [head = '', tail] = short.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail ? tail.split(':') : []
  if (tail === undefined) return before
  return [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after]
}

// Browsers (spec 3.18)
const PREFLIGHT_HEADERS = {
  'Access-Control-Allow-Methods': 'GET, POST, PUT, PATCH, DELETE',
  'Access-Control-Allow-Headers': 'Authorization, Content-Type, Last-Event-ID, X-SVC-Nonce, X-SVC-Timestamp',
}

function isPreflight(service: Service, call: Call): boolean {
  if (call.method !== 'OPTIONS') return false
  if (call.headers('access-control-request-method').length === 0) return false
  return Object.hasOwn(corsHeaders(service, call.headers('origin')), 'Access-Control-Allow-Origin')
}

function corsHeaders(service: Service, [origin]: string[]): OutgoingHttpHeaders {
  if (origin === undefined || !service.options.allowedOrigins.includes(origin)) return {}
  return {
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Expose-Headers': 'Date, Retry-After, X-Request-Id, X-SVC-Earliest-Cursor, X-SVC-Latest-Cursor',
    Vary: 'Origin',
  }
}

// ======== Chapter 1 and 5: manifest, health, identities ==============================================================
// spec 5.1
function getManifest(service: Service): Answer {
  const { options } = service
  const body = {
    service: SERVICE,
    version: VERSION,
    authority: options.authority,
    api: '/v2',
    openapi: '/openapi.json',
    signature: { scheme: 'SVC', version: 'SVC1', tolerance_seconds: LIMITS.http_tolerance_seconds },
    registration: { algorithm: 'sha256', difficulty: options.difficulty, challenge_seconds: LIMITS.challenge_seconds },
    envelope: {
      canonicalization: 'RFC8785',
      signature: 'ed25519',
      sealing: 'hpke-x25519-hkdf-sha256-chacha20poly1305',
    },
    limits: {
      ...LIMITS,
      retention_days: retentionDays(service),
      streams_per_process: options.streamsPerProcess,
      stream_seconds: options.streamSeconds,
      webhook_attempts: options.webhookRetrySeconds.length + 1,
      daily_free_units: options.dailyFreeUnits,
      daily_hard_limit: options.dailyHardLimit,
      daily_introductions: options.dailyIntroductions,
    },
    retention_days: retentionDays(service),
  }
  return { body }
}

// spec 6.8
function retentionDays(service: Service): number {
  return Math.ceil(service.options.retentionSeconds / DAY_SECONDS)
}

// spec 5.2
function getHealth(_: Service, call: Call): Answer {
  const body = { status: 'ok', service: SERVICE, version: VERSION }
  return { body, headers: { 'X-SVC-Client-Address': call.client } }
}

// spec 1.4
function getOpenapi(): Answer {
  const paths: Record<string, JsonObject> = {}
  for (const { method, path, operation } of ROUTES) {
    if (!path.startsWith('/v2') && operation.run !== getManifest) continue
    paths[path] = { ...paths[path], [method.toLowerCase()]: describeOperation(operation, path) }
  }
  return { body: { openapi: '3.1.0', info: { title: SERVICE, version: VERSION }, paths } }
}

function describeOperation(operation: Operation, path: string): JsonObject {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: 'path', required: true }))
  const inQuery = (operation.query ?? []).map((name) => ({ name, in: 'query', required: false }))
  const parameters = [...inPath, ...inQuery].map((parameter) => ({ ...parameter, schema: { type: 'string' } }))
  const content = { 'application/json': { schema: { type: 'object' } } }
  const body = operation.body === undefined ? {} : { requestBody: { required: true, content } }
  const responses = { [operation.success]: { description: 'success' }, default: { description: 'error (spec 4.1)' } }
  return { operationId: operation.run.name, parameters, ...body, responses }
}

// spec 5.3
function agentObject(agent: Agent): JsonObject {
  const { id, name, key, createdAt, revoked } = agent
  return { agent_id: id, name, pubkey: key.text, created_at: createdAt, revoked }
}

// Challenges (spec 5.4): the text is the key, the difficulty, the expiry and random digits, with a code of the service.
function createChallenge(service: Service, call: Call): Answer {
  const key = parseKey(String(call.value.pubkey)) ?? fail('invalid_pubkey') // spec 5.4
  const { difficulty } = service.options
  const expiresAt = seconds(service) + LIMITS.challenge_seconds
  const parts = [agentIdOf(key), difficulty, expiresAt, randomBytes(16).toString('hex')].join('.')
  const challenge = `${parts}.${codeOf(service, `challenge ${parts}`)}`
  return { body: { challenge, difficulty, expires_at: expiresAt, algorithm: 'sha256' } }
}

function codeOf(service: Service, text: string): string {
  return createHmac('sha256', service.secret).update(text).digest('hex')
}

/** The difficulty of a challenge that holds for this key now. */
function checkChallenge(service: Service, challenge: string, agentId: string): number {
  const [id, difficulty, expiresAt, random, code] = challenge.split('.')
  const parts = [id, difficulty, expiresAt, random].join('.')
  if (code !== codeOf(service, `challenge ${parts}`)) throw new Fault('challenge_invalid')
  if (challenge !== `${parts}.${code}`) throw new Fault('challenge_invalid')
  if (id !== agentId) throw new Fault('challenge_invalid') // For another key.
  if (Number(expiresAt) <= seconds(service)) throw new Fault('challenge_invalid') // Expired.
  return Number(difficulty)
}

// spec 5.5
function proofHolds(challenge: string, nonce: string, difficulty: number): boolean {
  if (!POW_NONCE.test(nonce)) return false
  const bits = [...sha256(`${challenge}:${nonce}`)].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return !bits.slice(0, difficulty).includes('1')
}

// spec 5.6
function register(service: Service, call: Call): Answer {
  const [name, challenge, nonce] = [String(call.value.name), String(call.value.challenge), String(call.value.nonce)]
  const key = parseKey(String(call.value.pubkey)) ?? fail('invalid_pubkey') // spec 5.6
  const id = agentIdOf(key)
  if (!NAME.test(name)) throw new Fault('invalid_name') // Step 1.
  const holder = service.names.get(name)
  if (holder?.id === id) return registered(service, holder) // Step 2.
  if (isReserved(service, name)) throw new Fault('invalid_name') // Step 3.
  const difficulty = checkChallenge(service, challenge, id) // Step 4.
  if (!proofHolds(challenge, nonce, difficulty)) throw new Fault('pow_invalid') // Step 5.
  if (service.consumedChallenges.has(challenge)) throw new Fault('challenge_consumed') // Step 6.
  if (holder !== undefined) throw new Fault('name_taken') // Step 7.
  if (service.agents.has(id)) throw new Fault('key_registered') // Step 8.
  const agent = new Agent(name, key, seconds(service))
  service.consumedChallenges.add(challenge)
  service.agents.set(id, agent)
  service.names.set(name, agent)
  return registered(service, agent)
}

function registered(service: Service, agent: Agent): Answer {
  return { body: { agent_id: agent.id, address: `${agent.name}@${service.options.authority}` } }
}

function isReserved(service: Service, name: string): boolean {
  return service.options.reservedNames.some((reserved) => lookOf(reserved) === lookOf(name))
}

function lookOf(name: string): string {
  return name.replace(/[_-]/g, '').replace(/0/g, 'o').replace(/[1i]/g, 'l')
}

// spec 5.9
function getAgent(service: Service, call: Call): Answer {
  return { body: agentObject(service.names.get(param(call, 'name')) ?? fail('not_found')) }
}

function listAgents(service: Service, call: Call): Answer {
  const listed = [...service.agents.values()].filter((agent) => agent.discoverable && !agent.revoked)
  const { page, next } = pageByKey(call, listed, (agent) => agent.name)
  return { body: { agents: page.map(agentObject), next_cursor: next } }
}

// spec 5.10
function getMe(service: Service, call: Call): Answer {
  const caller = callerOf(call)
  const { inboxPolicy, discoverable } = caller
  const address = `${caller.name}@${service.options.authority}`
  return { body: { agent: agentObject(caller), address, inbox_policy: inboxPolicy, discoverable } }
}

function changeSettings(service: Service, call: Call): Answer {
  const caller = callerOf(call)
  const inboxPolicy = isText(call.value.inbox_policy) ? call.value.inbox_policy : caller.inboxPolicy
  const discoverable = isBoolean(call.value.discoverable) ? call.value.discoverable : caller.discoverable
  const policyChanges = inboxPolicy !== caller.inboxPolicy
  const discoverableChanges = discoverable !== caller.discoverable
  const isFree = !discoverableChanges && (!policyChanges || inboxPolicy === 'closed')
  pay(service, caller, isFree ? 0 : 1)
  caller.inboxPolicy = inboxPolicy
  caller.discoverable = discoverable
  return getMe(service, call)
}

// spec 5.11
function revoke(_: Service, call: Call): Answer {
  const caller = callerOf(call)
  if (call.value.confirm_agent_id !== caller.id) throw new Fault('confirmation_mismatch')
  caller.revoked = true
  for (const stream of caller.streams) stream.end()
  removeWebhook(caller)
  return { body: { status: 'revoked' } }
}

// ======== Chapter 6: envelopes =======================================================================================
const ENVELOPE_MEMBERS = ['id', 'from', 'to', 'type', 'ts', 'ttl', 'reply_to', 'thread_id']
const SIGNED = ['body', 'sig']
const SEALED = ['body_enc', 'ephemeral_pub']

type Payload = { bytes: number; codePoints: number }
type Address = { name: string; authority: string }

interface Parsed {
  id: string
  from: string
  to: Address | { board: string }
  ts: number
  ttl: number
  replyTo: string | undefined
  threadId: string | undefined
  payload: Payload
}

// spec 6.1
function parseEnvelope(envelope: JsonObject): Parsed {
  const members = [...ENVELOPE_MEMBERS, ...SIGNED, ...SEALED]
  for (const name of Object.keys(envelope)) if (!members.includes(name)) throw new Fault('invalid_request') // spec 2.7
  const { id, from, type, ttl = 0, reply_to: replyTo, thread_id: threadId } = envelope
  const to = parseRecipient(envelope.to)
  const ts = parseTime(envelope.ts)
  need(isText(id) && ENVELOPE_ID.test(id))
  need(isText(from) && (isAgentId(from) || parseAddress(from) !== undefined)) // spec 6.2
  need(to !== undefined)
  need(oneOf('request', 'response', 'event', 'error')(type))
  need(ts !== undefined)
  need(Number.isInteger(ttl))
  need(Number(ttl) >= 0)
  need(replyTo === undefined || isText(replyTo))
  need(threadId === undefined || isText(threadId))
  const payload = hasPair(envelope, SIGNED, SEALED) ? signedPayload(envelope) : sealedPayload(envelope)
  return { id, from, to, ts, ttl: Number(ttl), replyTo, threadId, payload }
}

function need(holds: boolean): asserts holds {
  if (!holds) throw new Fault('invalid_envelope')
}

function hasPair(envelope: JsonObject, pair: string[], other: string[]): boolean {
  const has = (name: string): boolean => Object.hasOwn(envelope, name)
  return pair.every(has) && !other.some(has)
}

// spec 6.5
function signedPayload(envelope: JsonObject): Payload {
  need(isText(envelope.sig) && decodeBase64(envelope.sig)?.length === 64)
  const payload = JSON.stringify(envelope.body)
  return { bytes: Buffer.byteLength(payload), codePoints: codePoints(payload) }
}

function sealedPayload(envelope: JsonObject): Payload {
  need(hasPair(envelope, SEALED, SIGNED))
  need(isText(envelope.ephemeral_pub) && decodeBase64(envelope.ephemeral_pub)?.length === 32)
  const bytes = isText(envelope.body_enc) ? decodeBase64(envelope.body_enc) : undefined
  need(bytes !== undefined)
  need(bytes.length > 0) // spec 2.4
  return { bytes: bytes.length, codePoints: 0 }
}

// spec 2.8
function parseAddress(text: string): Address | undefined {
  const [name, authority = ''] = splitOnce(text, '@')
  return NAME.test(name) && AUTHORITY.test(authority) ? { name, authority } : undefined
}

// spec 6.2
function parseRecipient(to: unknown): Address | { board: string } | undefined {
  if (!isText(to)) return undefined
  if (!to.startsWith('board:')) return parseAddress(to)
  const board = to.slice('board:'.length)
  return BOARD_ID.test(board) ? { board } : undefined
}

function isLocal(service: Service, authority: string): boolean {
  return authority.toLowerCase() === service.options.authority.toLowerCase() // spec 6.2
}

function checkSender(service: Service, caller: Agent, from: string): void {
  if (from === caller.id) return
  const address = parseAddress(from)
  if (address?.name !== caller.name) throw new Fault('sender_mismatch')
  if (!isLocal(service, address.authority)) throw new Fault('sender_mismatch')
}

// spec 6.5
function checkSize(parsed: Parsed): void {
  const isPost = 'board' in parsed.to
  const maxBytes = isPost ? LIMITS.post_bytes : LIMITS.dm_bytes
  const maxCodePoints = isPost ? LIMITS.post_characters : LIMITS.dm_characters
  if (parsed.payload.bytes > maxBytes) throw new Fault('message_too_large')
  if (parsed.payload.codePoints > maxCodePoints) throw new Fault('message_too_large')
}

// spec 6.7
const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(\.\d{1,9})?(?:[Zz]|([+-])(\d\d):(\d\d))$/

/** Seconds since the Unix epoch, down to the millisecond. */
function parseTime(text: unknown): number | undefined {
  const found = isText(text) ? RFC3339.exec(text) : null
  if (found === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found.slice(1, 7).map(Number)
  const [offsetHour, offsetMinute] = [Number(found[9] ?? 0), Number(found[10] ?? 0)]
  if (hour > 23 || minute > 59 || second > 60) return undefined
  if (offsetHour > 23 || offsetMinute > 59) return undefined
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined // No such day.
  const offset = (offsetHour * 60 + offsetMinute) * (found[8] === '-' ? -60 : 60)
  const time = date.getTime() / 1000 + hour * 3600 + minute * 60 + second - offset
  if (second === 60 && time % DAY_SECONDS !== 0) return undefined // A leap second ends a day of UTC,
  if (second === 60 && new Date(time * 1000).getUTCDate() !== 1) return undefined // the last one of a month.
  return time + Number((found[7] ?? '.0').slice(0, 4))
}

function checkTime(service: Service, { ts, ttl }: Parsed): void {
  const now = service.options.clock() / 1000
  if (ts < now - LIMITS.message_past_seconds) throw new Fault('envelope_timestamp_out_of_range')
  if (ts > now + LIMITS.message_future_seconds) throw new Fault('envelope_timestamp_out_of_range')
  if (ttl > 0 && Math.floor(ts) + ttl <= seconds(service)) throw new Fault('expired')
}

// spec 6.8
function expiryOf(service: Service, { ts, ttl }: Parsed): number {
  const retained = seconds(service) + service.options.retentionSeconds
  return ttl > 0 ? Math.min(retained, Math.floor(ts) + ttl) : retained
}

function isLive(service: Service, message: Message): boolean {
  return seconds(service) < message.expiresAt
}

// spec 6.9
function checkReferences(service: Service, caller: Agent, parsed: Parsed, target: Agent | Board): void {
  const { replyTo, threadId } = parsed
  for (const id of [replyTo, threadId]) {
    if (id === undefined) continue
    const message = service.messages.get(id)
    if (message === undefined || !isLive(service, message)) throw new Fault('invalid_reference')
    if (!isInConversation(message, caller, target)) throw new Fault('invalid_reference')
    if (message.hidden) throw new Fault('invalid_reference')
    if (id === threadId && message.envelope.thread_id !== undefined) throw new Fault('invalid_reference') // No root.
  }
}

function isInConversation(message: Message, caller: Agent, target: Agent | Board): boolean {
  if (message.board !== undefined) return message.board === target
  const isSent = message.from === caller && message.to === target
  const isReceived = message.from === target && message.to === caller
  return isSent || isReceived
}

// ======== Chapter 7: sending and reading =============================================================================
// spec 7.2
function send(service: Service, call: Call): Answer {
  const caller = callerOf(call)
  const envelope = call.value
  const parsed = parseEnvelope(envelope) // Step 1.
  checkSender(service, caller, parsed.from) // Step 2.
  checkSize(parsed) // Step 3.
  const earlier = service.messages.get(parsed.id)
  if (earlier !== undefined) return retry(earlier, caller, envelope) // Step 4.
  checkTime(service, parsed) // Step 5.
  const { to } = parsed
  const target = 'board' in to ? boardToPost(service, caller, to.board) : recipient(service, to) // Step 6.
  checkReferences(service, caller, parsed, target) // Step 7.
  const message: Message = createMessage(service, caller, envelope, parsed)
  if ('owner' in target) acceptPost(service, message, target, parsed.payload.bytes)
  else acceptDirectMessage(service, message, target, parsed.payload.bytes)
  return { body: sendResult(message, false) }
}

function sendResult(message: Message, duplicate: boolean): JsonObject {
  return { msg_id: message.id, status: 'accepted', lane: message.lane, duplicate, sender_authenticated: true }
}

// spec 7.4
function retry(earlier: Message, caller: Agent, envelope: JsonObject): Answer {
  if (earlier.from !== caller) throw new Fault('id_conflict')
  if (earlier.jcs !== jcs(envelope)) throw new Fault('id_conflict')
  return { status: 200, body: sendResult(earlier, true) }
}

function recipient(service: Service, { name, authority }: Address): Agent {
  if (!isLocal(service, authority)) throw new Fault('recipient_not_local')
  const agent = service.names.get(name) ?? fail('recipient_unavailable')
  if (agent.revoked) throw new Fault('recipient_unavailable') // spec 6.2
  return agent
}

function createMessage(service: Service, from: Agent, envelope: JsonObject, parsed: Parsed) {
  return {
    id: parsed.id,
    envelope,
    jcs: jcs(envelope),
    from,
    lane: 'board' as Lane,
    position: ++service.lastPosition,
    createdAt: seconds(service),
    expiresAt: expiryOf(service, parsed),
    acked: false,
    hidden: false,
    votes: new Set<string>(), // Ids of agents.
  }
}

function acceptDirectMessage(service: Service, message: Message, to: Agent, bytes: number): void {
  const { from } = message
  const lane = laneOf(service, from, to) // Steps 8 and 9.
  const isIntroduction = from !== to && !from.introduced.has(to.id) // spec 11.5
  if (isIntroduction && budgetOf(service, from).introductions >= service.options.dailyIntroductions) {
    throw new Fault('introduction_limit_reached', secondsToMidnight(service)) // Step 10.
  }
  pay(service, from, unitsOf(bytes)) // Steps 11 and 12.
  if (isIntroduction) budgetOf(service, from).introductions++
  from.introduced.add(to.id)
  message.to = to
  message.lane = lane
  service.messages.set(message.id, message)
  if (lane === 'requests') to.requests.set(from.id, message)
  appendEvent(service, to, lane, message)
}

// spec 7.6
function laneOf(service: Service, from: Agent, to: Agent): Lane {
  if (from === to) return 'inbox'
  const state = to.contacts.get(from.id)
  if (state === 'blocked') throw new Fault('admission_denied')
  if (to.inboxPolicy === 'closed') throw new Fault('admission_denied')
  if (state === 'accepted') return 'inbox'
  if (to.inboxPolicy === 'open') return 'inbox'
  if (to.inboxPolicy === 'contacts') throw new Fault('admission_denied')
  const pending = to.requests.get(from.id)
  if (pending !== undefined && isLive(service, pending)) throw new Fault('request_pending')
  return 'requests'
}

// spec 7.7
function setContact(service: Service, call: Call): Answer {
  const caller = callerOf(call)
  const id = param(call, 'agent')
  const state = call.value.state
  if (id === caller.id) throw new Fault('invalid_request')
  if (!service.agents.has(id)) throw new Fault('not_found')
  const before = caller.contacts.get(id) ?? 'none'
  if (state === 'accepted' && before !== 'accepted') {
    pay(service, caller, 1)
    caller.contacts.set(id, 'accepted')
    movePendingRequest(service, caller, id)
  }
  if (state === 'blocked') caller.contacts.set(id, 'blocked')
  if (state === 'none') caller.contacts.delete(id)
  return { body: { state } }
}

function movePendingRequest(service: Service, caller: Agent, senderId: string): void {
  const pending = caller.requests.get(senderId)
  caller.requests.delete(senderId)
  if (pending === undefined || !isLive(service, pending)) return // An expired request does not move.
  pending.lane = 'inbox'
  appendEvent(service, caller, 'inbox', pending)
}

function listContacts(service: Service, call: Call): Answer {
  const contacts = [...callerOf(call).contacts].map(([id, state]) => ({ agent_id: id, state }))
  const listed = contacts.filter((contact) => !service.agents.get(contact.agent_id)?.revoked) // spec 7.9
  const { page, next } = pageByKey(call, listed, (contact) => contact.agent_id)
  return { body: { contacts: page, next_cursor: next } }
}

// spec 7.8
function messageObject(message: Message): JsonObject {
  const { envelope, lane, createdAt, expiresAt, acked, votes } = message
  return { envelope, lane, created_at: createdAt, expires_at: expiresAt, acked, upvotes: votes.size }
}

// Lists (spec 7.9)
type Page<T> = { page: T[]; next: string }
type Place = { position: number; message: Message }

function pageOf<T>(call: Call, following: T[], cursorOfItem: (item: T) => string): Page<T> {
  const page = following.slice(0, Number(call.query.get('limit') ?? LIMITS.page_size_default))
  const last = page.at(-1)
  return { page, next: last !== undefined && following.length > page.length ? cursorOfItem(last) : '' }
}

function pageByKey<T>(call: Call, all: T[], keyOf: (item: T) => string): Page<T> {
  const after = call.query.get('after')
  const sorted = all.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)) // All keys are ASCII.
  return pageOf(call, after === undefined ? sorted : sorted.filter((item) => keyOf(item) > after), keyOf)
}

/** A page of a list with opaque cursors. `list` names the list and whose it is. */
function pageByPosition(service: Service, call: Call, list: string, all: Place[]): Answer {
  const after = parseCursor(service, list, call.query.get('after'))
  const threadId = call.query.get('thread_id')
  const following = all
    .filter(({ position }) => position > after)
    .filter(({ message }) => isLive(service, message))
    .filter(({ message }) => threadId === undefined || isInThread(message, threadId))
  const { page, next } = pageOf(call, following, ({ position }) => cursorOf(service, list, position))
  return { body: { messages: page.map(({ message }) => messageObject(message)), next_cursor: next } }
}

function cursorOf(service: Service, list: string, position: number): string {
  return `${position}-${codeOf(service, `cursor ${list} ${position}`)}`
}

function parseCursor(service: Service, list: string, cursor: string | undefined): number {
  if (cursor === undefined) return 0
  const position = Number.parseInt(cursor, 10)
  if (cursor !== cursorOf(service, list, position)) throw new Fault('invalid_cursor')
  return position
}

// spec 7.12
function isInThread(message: Message, root: string): boolean {
  return message.envelope.thread_id === root || (message.id === root && message.envelope.thread_id === undefined)
}

// Reading by id (spec 7.10, 8.9)
function mayRead(message: Message, caller: Agent | undefined): boolean {
  if (message.board !== undefined) return !message.hidden && mayReadBoard(message.board, caller)
  return caller !== undefined && (message.from === caller || message.to === caller)
}

function findById(service: Service, call: Call): Message {
  const message = service.messages.get(param(call, 'id'))
  if (message === undefined || !isLive(service, message)) throw new Fault('not_found') // spec 7.10
  const isOwner = message.board !== undefined && message.board.owner === call.caller // Reads hidden posts.
  if (!isOwner && !mayRead(message, call.caller)) throw new Fault('not_found')
  return message
}

/** A DM of the caller. A post is `not_found` (spec 7.13, 7.14). */
function findDirectMessage(service: Service, call: Call): Message {
  const message = findById(service, call)
  if (message.board !== undefined) throw new Fault('not_found')
  return message
}

function getMessage(service: Service, call: Call): Answer {
  return { body: messageObject(findById(service, call)) }
}

// spec 7.11
function listInbox(service: Service, call: Call): Answer {
  const caller = callerOf(call)
  const lane = call.query.get('lane') ?? 'inbox'
  const isUnackedOnly = call.query.get('unacked') === 'true'
  const listed = caller.events
    .filter(({ kind, message }) => kind === lane && message.lane === lane) // A moved request stands at its new cursor.
    .filter(({ message }) => !isUnackedOnly || !message.acked)
    .map(({ cursor, message }) => ({ position: cursor, message }))
  return pageByPosition(service, call, `inbox ${caller.id}`, listed)
}

// spec 7.13
function acknowledge(service: Service, call: Call): Answer {
  const message = findDirectMessage(service, call)
  if (message.to !== call.caller) throw new Fault('forbidden')
  message.acked = true
  return { body: { status: 'acked' } }
}

// spec 7.14
function getReceipt(service: Service, call: Call): Answer {
  const message = findDirectMessage(service, call)
  const status = message.acked ? 'processed' : 'accepted'
  return { body: { msg_id: message.id, status, accepted_at: message.createdAt } }
}

// spec 7.15
function listExport(service: Service, call: Call): Answer {
  const caller = callerOf(call)
  const listed = [...service.messages.values()]
    .filter((message) => message.from === caller || message.to === caller)
    .filter((message) => mayRead(message, caller))
    .map((message) => ({ position: message.position, message }))
  return pageByPosition(service, call, `export ${caller.id}`, listed)
}

// ======== Chapter 8: boards ==========================================================================================
// spec 8.1
function createBoard(service: Service, call: Call): Answer {
  const caller = callerOf(call)
  const { title, description = '', visibility, posting = 'members' } = call.value
  if (visibility === 'private' && posting === 'anyone') throw new Fault('invalid_request')
  const owned = [...service.boards.values()].filter((board) => board.owner === caller)
  if (owned.length >= LIMITS.boards_per_owner) throw new Fault('board_limit')
  pay(service, caller, BOARD_UNITS)
  const [id, createdAt] = [newBoardId(service), seconds(service)]
  const details = { id, owner: caller.id, title, description, visibility, posting, created_at: createdAt }
  service.boards.set(id, { id, owner: caller, visibility, posting, details, roles: new Map(), posts: [] })
  return { body: details }
}

/** Ids sort by the time of creation (spec 2.9). Random digits keep an unlisted board from being guessed. */
function newBoardId(service: Service): string {
  const count = String(service.boards.size).padStart(12, '0')
  return `b${count}${randomBytes(12).toString('hex')}`
}

function isMember(board: Board, agent: Agent | undefined): boolean {
  return agent !== undefined && (board.owner === agent || ['reader', 'writer'].includes(roleOf(board, agent.id)))
}

function roleOf(board: Board, agentId: string): Role {
  return board.roles.get(agentId) ?? 'none'
}

// spec 8.2
function mayReadBoard(board: Board, caller: Agent | undefined): boolean {
  return board.visibility !== 'private' || isMember(board, caller)
}

function findBoard(service: Service, call: Call): Board {
  const board = service.boards.get(param(call, 'board')) ?? fail('not_found')
  if (!mayReadBoard(board, call.caller)) throw new Fault('not_found')
  return board
}

// spec 8.3
function getBoard(service: Service, call: Call): Answer {
  return { body: findBoard(service, call).details }
}

function listBoards(service: Service, call: Call): Answer {
  const listed = [...service.boards.values()].filter(
    (board) => board.visibility === 'public' || isMember(board, call.caller),
  )
  const { page, next } = pageByKey(call, listed, (board) => board.id)
  return { body: { boards: page.map((board) => board.details), next_cursor: next } }
}

function listMembers(service: Service, call: Call): Answer {
  const board = findBoard(service, call)
  if (board.owner !== call.caller) throw new Fault('forbidden') // spec 8.3
  const members = [...board.roles].map(([id, role]) => ({ agent_id: id, role: role as string }))
  members.push({ agent_id: board.owner.id, role: 'owner' })
  members.sort((a, b) => (a.agent_id < b.agent_id ? -1 : 1))
  return { body: { members } }
}

// spec 8.4
function boardToPost(service: Service, caller: Agent, id: string): Board {
  const board = service.boards.get(id)
  if (board === undefined || !mayReadBoard(board, caller)) throw new Fault('not_found')
  if (!mayPost(board, caller)) throw new Fault('forbidden')
  return board
}

function mayPost(board: Board, caller: Agent): boolean {
  if (board.owner === caller) return true
  const role = roleOf(board, caller.id)
  if (board.posting === 'members') return role === 'writer'
  return role !== 'banned'
}

// spec 8.6
function setRole(service: Service, call: Call): Answer {
  const caller = callerOf(call)
  const board = findBoard(service, call) // Step 1.
  const id = param(call, 'agent')
  const role = call.value.role as Role
  const isOwner = board.owner === caller
  if (isOwner && id === caller.id) throw new Fault('owner_role') // Step 2.
  const before = roleOf(board, id)
  if (!isOwner && (id !== caller.id || !maySetOwnRole(board, before, role))) throw new Fault('forbidden') // Step 3.
  const agent = service.agents.get(id) ?? fail('not_found') // Step 4.
  if (role === before) return { body: { role } } // Step 5.
  const admits = role === 'reader' || role === 'writer'
  if (admits && agent.revoked) throw new Fault('agent_revoked') // Step 6.
  if (before === 'none' && board.roles.size >= LIMITS.memberships_per_board) throw new Fault('membership_limit') // Step 7.
  const isLowered = before === 'writer' && role === 'reader'
  const blocksOwner = isOwner && agent.contacts.get(caller.id) === 'blocked'
  if (admits && !isLowered && blocksOwner) throw new Fault('admission_denied') // Step 8.
  const isPaid = admits && (before === 'none' || before === 'banned') // spec 8.7
  pay(service, caller, isPaid ? 1 : 0) // Step 9.
  if (role === 'none') board.roles.delete(id)
  else board.roles.set(id, role)
  return { body: { role } }
}

/** What an agent may make of its own role on a board of somebody else (spec 8.5). */
function maySetOwnRole(board: Board, before: Role, role: Role): boolean {
  if (role === before) return true
  if (before === 'banned') return false
  if (role === 'reader') return board.visibility !== 'private' // Subscribe.
  return role === 'none' // Leave.
}

// spec 8.8
function acceptPost(service: Service, message: Message, board: Board, bytes: number): void {
  const subscribed = [...service.agents.values()].filter((agent) => agent !== message.from && isMember(board, agent))
  pay(service, message.from, unitsOf(bytes) * Math.max(1, subscribed.length)) // Steps 11 and 12 of 7.2; spec 11.2.
  message.board = board
  board.posts.push(message)
  service.messages.set(message.id, message)
  for (const agent of subscribed) appendEvent(service, agent, 'board', message)
}

function listPosts(service: Service, call: Call): Answer {
  const board = findBoard(service, call)
  const listed = board.posts
    .filter((message) => !message.hidden) // spec 8.9
    .map((message) => ({ position: message.position, message }))
  return pageByPosition(service, call, `board ${board.id}`, listed)
}

// spec 8.9
function setHidden(service: Service, call: Call): Answer {
  const board = findBoard(service, call)
  if (board.owner !== call.caller) throw new Fault('forbidden') // spec 8.9
  const message = service.messages.get(param(call, 'id'))
  if (message === undefined || !isLive(service, message)) throw new Fault('not_found') // spec 8.9
  if (message.board !== board) throw new Fault('not_found')
  message.hidden = call.value.hidden === true
  return { body: { hidden: message.hidden } }
}

// spec 8.10
function vote(service: Service, call: Call): Answer {
  const message = postToVoteFor(service, call)
  const caller = callerOf(call)
  if (!message.votes.has(caller.id)) pay(service, caller, 1) // A repeat is free.
  message.votes.add(caller.id)
  return { body: { status: 'voted', quota_bonus: 0 } }
}

function removeVote(service: Service, call: Call): Answer {
  postToVoteFor(service, call).votes.delete(callerOf(call).id)
  return { body: { status: 'removed', quota_bonus: 0 } }
}

function postToVoteFor(service: Service, call: Call): Message {
  const caller = callerOf(call)
  const message = findById(service, call)
  if (message.board === undefined) throw new Fault('not_found') // A DM.
  if (roleOf(message.board, caller.id) === 'banned') throw new Fault('forbidden')
  if (message.from === caller) throw new Fault('own_post')
  return message
}

// ======== Chapter 9: events and streams ==============================================================================
// spec 9.2, 9.3
function appendEvent(service: Service, agent: Agent, kind: Lane, message: Message): void {
  agent.latestCursor++
  agent.events.push({ cursor: agent.latestCursor, kind, message })
  if (kind === 'inbox') addJob(service, agent, message)
  for (const stream of agent.streams) stream.pump()
}

/** Events behind a cursor that the agent may read now. */
function readableAfter(service: Service, agent: Agent, after: number): AgentEvent[] {
  return agent.events.slice(after).filter((event) => isReadable(service, agent, event)) // Cursors have no gaps.
}

// spec 9.1
function eventObject({ cursor, kind, message }: AgentEvent): JsonObject {
  return { cursor, kind, message: messageObject(message) }
}

function isReadable(service: Service, agent: Agent, { message }: AgentEvent): boolean {
  return isLive(service, message) && mayRead(message, agent) // spec 9.4
}

// spec 9.4
function parseEventCursor(text: string): number {
  if (!/^[0-9]+$/.test(text)) throw new Fault('invalid_cursor')
  if (Number(text) > Number.MAX_SAFE_INTEGER) throw new Fault('invalid_cursor')
  return Number(text)
}

// spec 9.7
function checkLastEventId(values: string[]): void {
  if (values.length > 1) throw new Fault('invalid_cursor')
  if (values[0] !== undefined) parseEventCursor(values[0])
}

// spec 9.6
function cursorHeaders(service: Service, agent: Agent): OutgoingHttpHeaders {
  const oldest = agent.events.find(({ message }) => isLive(service, message))
  const earliest = oldest?.cursor ?? agent.latestCursor + 1
  return { 'X-SVC-Earliest-Cursor': String(earliest), 'X-SVC-Latest-Cursor': String(agent.latestCursor) }
}

function listEvents(service: Service, call: Call): Answer {
  const caller = callerOf(call)
  const headers = cursorHeaders(service, caller)
  const limit = Number(call.query.get('limit') ?? LIMITS.page_size_default)
  const after = parseEventCursor(call.query.get('after') ?? '0')
  const following = readableAfter(service, caller, after)
  const events = following.slice(0, limit)
  // If nothing more can be read, everything was examined.
  const last = following.length > limit ? events.at(-1)?.cursor : undefined
  const next = last ?? Math.max(after, caller.latestCursor)
  return {
    body: { events: events.map(eventObject), next_cursor: next, retention_days: retentionDays(service) },
    headers,
  }
}

// Streams (spec 9.7 to 9.9)
function openStream(service: Service, call: Call): Answer {
  const agent = callerOf(call)
  const start = call.headers('last-event-id')[0] ?? call.query.get('after') ?? '0'
  if (agent.streams.size >= LIMITS.streams_per_identity) throw new Fault('stream_limit') // spec 9.8
  if (service.streams.size >= service.options.streamsPerProcess) throw new Fault('stream_capacity') // spec 9.8
  const headers = { 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'no-store' }
  return {
    headers: { ...headers, ...cursorHeaders(service, agent) },
    stream: (response) => runStream(service, agent, response, parseEventCursor(start)),
  }
}

function runStream(service: Service, agent: Agent, response: ServerResponse, start: number): void {
  const { streamSeconds, streamSilenceSeconds } = service.options
  const stream: Stream = { position: start, pump, end }
  let isReplayed = false
  const silence = setInterval(writeCursor, streamSilenceSeconds * 1000)
  const lifetime = setTimeout(end, streamSeconds * 1000)
  agent.streams.add(stream)
  service.streams.add(stream)
  response.on('drain', pump)
  response.on('close', remove)
  response.write('retry: 1000\n\n')
  pump()

  /** Writes what the client has room for. An event is checked when it leaves. */
  function pump(): void {
    for (const event of agent.events.slice(stream.position)) {
      if (response.writableNeedDrain) return
      stream.position = event.cursor
      if (!isReadable(service, agent, event)) continue
      write(`event: message\ndata: ${JSON.stringify(eventObject(event))}\nid: ${event.cursor}\n\n`)
    }
    if (!isReplayed) writeCursor() // The history has been replayed.
    isReplayed = true
  }
  function writeCursor(): void {
    write(`event: cursor\ndata: {"cursor":${stream.position}}\nid: ${stream.position}\n\n`)
  }
  function write(frame: string): void {
    response.write(frame)
    silence.refresh()
  }
  function end(): void {
    if (!service.streams.has(stream)) return
    writeCursor() // spec 9.9
    response.end()
    remove()
  }
  function remove(): void {
    clearInterval(silence)
    clearTimeout(lifetime)
    agent.streams.delete(stream)
    service.streams.delete(stream)
  }
}

// ======== Chapter 10: webhooks =======================================================================================
function webhookOf(call: Call): Webhook {
  return callerOf(call).webhook ?? fail('not_found')
}

// spec 10.1
function getWebhook(_: Service, call: Call): Answer {
  const { url, pending, failed } = webhookOf(call)
  return { body: { url, pending: pending.size, failed } }
}

function setWebhook(service: Service, call: Call): Answer {
  const caller = callerOf(call)
  const [url, secret] = [String(call.value.url), String(call.value.secret)]
  if (!isWebhookUrl(url)) throw new Fault('invalid_webhook_url')
  pay(service, caller, 1)
  removeWebhook(caller)
  caller.webhook = { url, secret, pending: new Set(), failed: 0 }
  return getWebhook(service, call)
}

function deleteWebhook(_: Service, call: Call): Answer {
  webhookOf(call)
  removeWebhook(callerOf(call))
  return { body: { status: 'deleted' } }
}

function removeWebhook(agent: Agent): void {
  for (const job of agent.webhook?.pending ?? []) clearTimeout(job.timer)
  agent.webhook?.pending.clear() // An attempt that is under way has no successor.
  agent.webhook = undefined
}

const WEBHOOK_URL = /^https:\/\/[^/?@%]+([/?].*)?$/i // spec 10.2: absolute, https, no credentials, no percent-encoding in the host.
const NOT_IN_URLS = /[^!#-;=?-[\]_a-z~]/i // What RFC 3986 does not allow.

// spec 10.2
function isWebhookUrl(text: string): boolean {
  if (text.length > 2048 || NOT_IN_URLS.test(text)) return false
  if (text.includes('#')) return false // A fragment, even an empty one.
  if (!WEBHOOK_URL.test(text) || !URL.canParse(text)) return false
  if (new URL(text).port !== '') return false // 443 is the default port, and URL leaves it out.
  if (hostOf(text).split('.').includes('')) return false // An empty label.
  return isIP(hostOf(text)) === 0 || isPublic(hostOf(text))
}

// Public addresses (spec 10.3). The ranges are those of IANA's special-purpose address registries.
const PUBLIC_RANGES = blockList('2000::/3 64:ff9b::/96')
const SPECIAL_RANGES = blockList(
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 ' +
    '192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 ' +
    '2001::/23 2001:db8::/32 2002::/16 3fff::/20',
)
const REACHABLE_RANGES = blockList(
  '192.0.0.9/32 192.0.0.10/32 2001:1::1/128 2001:1::2/128 2001:1::3/128 2001:3::/32 2001:4:112::/48 2001:20::/28 ' +
    '2001:30::/28',
)

function blockList(ranges: string): BlockList {
  const list = new BlockList()
  for (const range of ranges.split(' ')) {
    const [address = '', bits] = range.split('/')
    list.addSubnet(address, Number(bits), isIPv6(address) ? 'ipv6' : 'ipv4')
  }
  return list
}

function isPublic(address: string): boolean {
  const family = isIPv6(address) ? 'ipv6' : 'ipv4'
  if (REACHABLE_RANGES.check(address, family)) return true
  if (SPECIAL_RANGES.check(address, family)) return false
  if (family === 'ipv4') return true
  if (!PUBLIC_RANGES.check(address, family)) return false // Unassigned, multicast, or IPv4-mapped.
  const groups = ipv6Groups(address)
  const embedded = groups.slice(6).map((group) => Number.parseInt(group, 16))
  const isIsatap = groups[5] === '5efe' && (groups[4] === '0' || groups[4] === '200')
  if (groups[0] !== '64' && !isIsatap) return true // Neither NAT64 nor ISATAP.
  return isPublic(embedded.flatMap((group) => [group >> 8, group & 255]).join('.'))
}

// Jobs and deliveries (spec 10.4 to 10.7)
function addJob(service: Service, agent: Agent, message: Message): void {
  const { webhook } = agent
  if (webhook === undefined) return
  const job: Job = { id: randomBytes(16).toString('hex'), message, attempts: 0 }
  webhook.pending.add(job)
  void attempt(service, webhook, job)
}

async function attempt(service: Service, webhook: Webhook, job: Job): Promise<void> {
  if (!isLive(service, job.message)) {
    webhook.pending.delete(job) // Given up (spec 10.4).
    webhook.failed++
    return
  }
  job.attempts++
  const delivered = await deliver(service, webhook, job).catch(() => false)
  if (!webhook.pending.has(job)) return // Cancelled (spec 10.1).
  const delay = service.options.webhookRetrySeconds[job.attempts - 1]
  if (delivered || delay === undefined) webhook.pending.delete(job)
  else job.timer = setTimeout(() => void attempt(service, webhook, job), delay * (800 + 400 * Math.random())).unref()
  if (!delivered && delay === undefined) webhook.failed++
}

async function deliver(service: Service, webhook: Webhook, job: Job): Promise<boolean> {
  const deadline = Date.now() + ATTEMPT_MS
  const host = hostOf(webhook.url)
  const found = isIP(host) === 0 ? await lookup(host, { all: true }) : [{ address: host }]
  if (!found.every(({ address }) => isPublic(address))) return false // spec 10.6
  const body = JSON.stringify(job.message.envelope)
  const headers = deliveryHeaders(webhook, job, body, seconds(service))
  for (const [index, { address }] of found.entries()) {
    const ms = Math.max(1, (deadline - Date.now()) / (found.length - index))
    const status = await post(webhook.url, address, { headers, body, ms }).catch(() => undefined)
    if (status !== undefined) return status >= 200 && status < 300 // A redirect is no success.
  }
  return false
}

function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '') // spec 10.6
}

// spec 10.5, 10.9
function deliveryHeaders(webhook: Webhook, job: Job, body: string, timestamp: number): OutgoingHttpHeaders {
  const messageId = job.message.id
  const signature = hmac(webhook.secret, `${timestamp}.${messageId}.${body}`).toString('hex')
  return {
    'Content-Type': 'application/json',
    'User-Agent': `${SERVICE}/${VERSION}`,
    'Content-Length': Buffer.byteLength(body),
    'X-SVC-Timestamp': String(timestamp),
    'X-SVC-Message-ID': messageId,
    'X-SVC-Delivery-ID': job.id,
    'X-SVC-Signature': `sha256=${signature}`,
    ...standardHeaders(webhook.secret, `${job.id}.${timestamp}.${body}`, job.id, timestamp),
  }
}

function standardHeaders(secret: string, signed: string, id: string, timestamp: number): OutgoingHttpHeaders {
  const key = secret.startsWith('whsec_') ? decodeBase64(secret.slice('whsec_'.length)) : undefined
  if (key === undefined || key.length < 24 || key.length > 64) return {}
  const signature = hmac(key, signed).toString('base64')
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': `v1,${signature}` }
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

/** The status of the answer. Nothing else of the answer is read. */
function post(url: string, address: string, delivery: { headers: OutgoingHttpHeaders; body: string; ms: number }) {
  const path = url.replace(/^https:\/\/[^/?]+/i, '').replace(/^(?!\/)/, '/') // Exactly as configured (spec 10.6).
  const host = hostOf(url)
  const servername = isIP(host) === 0 ? { servername: host } : {}
  const headers = { Host: isIPv6(host) ? `[${host}]` : host, ...delivery.headers }
  return new Promise<number>((resolve, reject) => {
    const signal = AbortSignal.timeout(delivery.ms)
    const options = { method: 'POST', host: address, port: 443, path, ...servername, signal, headers }
    const request = httpsRequest({ ...options, agent: false })
    request.on('response', (response) => {
      resolve(response.statusCode ?? 0)
      response.destroy()
    })
    request.on('error', reject)
    request.end(delivery.body)
  })
}

// ======== Chapter 11: budgets ========================================================================================
// spec 11.2
function unitsOf(payloadBytes: number): number {
  return Math.max(1, Math.ceil(payloadBytes / 1024))
}

function budgetOf(service: Service, agent: Agent): Agent['budget'] {
  const day = Math.floor(seconds(service) / DAY_SECONDS)
  if (agent.budget.day !== day) agent.budget = { day, units: 0, introductions: 0 }
  return agent.budget
}

function secondsToMidnight(service: Service): number {
  return DAY_SECONDS - (seconds(service) % DAY_SECONDS)
}

// spec 11.3. Free units are used before credits.
function pay(service: Service, agent: Agent, units: number): void {
  if (units === 0) return // Free operations work with an exhausted budget (spec 11.2).
  const budget = budgetOf(service, agent)
  const { dailyFreeUnits, dailyHardLimit } = service.options
  const total = budget.units + units
  if (total > dailyHardLimit) throw new Fault('hard_limit_reached', secondsToMidnight(service))
  const credits = Math.max(0, total - dailyFreeUnits) - Math.max(0, budget.units - dailyFreeUnits)
  if (credits > agent.credits) throw new Fault('budget_exhausted', secondsToMidnight(service))
  agent.credits -= credits
  budget.units = total
}

// spec 11.6
function getBudget(service: Service, call: Call): Answer {
  const caller = callerOf(call)
  const budget = budgetOf(service, caller)
  const { dailyFreeUnits, dailyHardLimit, dailyIntroductions } = service.options
  return {
    body: {
      daily_free_units: dailyFreeUnits,
      daily_hard_limit: dailyHardLimit,
      used_units: budget.units,
      credit_balance: caller.credits,
      used_introductions: budget.introductions,
      daily_introduction_limit: dailyIntroductions,
      resets_at: seconds(service) + secondsToMidnight(service),
      vote_bonus: 0,
    },
  }
}

// spec 11.4
function grantCredits(service: Service, agentId: string, units: number, reference: string): 'granted' | 'repeated' {
  const agent = service.agents.get(agentId)
  if (agent === undefined) throw new Error(`no agent has the id ${agentId}`)
  const values = `${agentId} ${units}`
  const known = service.grants.get(reference)
  if (known === values) return 'repeated'
  if (known !== undefined) throw new Error(`the reference ${reference} was used with other values: ${known}`)
  service.grants.set(reference, values)
  agent.credits += units
  return 'granted'
}

// ======== The server =================================================================================================
interface Reference {
  url: string
  authority: string
  urls: string[]
  /** What an operator does with its own tool (spec 11.4). */
  grant: (agentId: string, units: number, reference: string) => 'granted' | 'repeated'
  [Symbol.asyncDispose]: () => Promise<void>
}

/** Starts a server on 127.0.0.1. Disposing it ends its streams and connections. */
export async function startReference(options: Partial<ReferenceOptions> = {}): Promise<Reference> {
  const service = new Service({ ...DEFAULTS, ...options })
  // checkHost looks at Host. The server keeps an idle connection for longer than clients do.
  const server = createServer({ requireHostHeader: false, keepAliveTimeout: 65_000 })
  for (const event of ['request', 'checkContinue', 'checkExpectation']) {
    server.on(event, (request: IncomingMessage, response: ServerResponse) => void handle(service, request, response))
  }
  server.on('connect', (_, socket: Duplex) => respondRaw(service, socket, 'not_found')) // CONNECT (spec 3.11).
  server.on('clientError', (error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Duplex) => {
    // Node's parser knows the registered methods only. Another one in a request line is an unknown method (spec 3.11).
    const isMethod = error.code === 'HPE_INVALID_METHOD' && /^\S+ \S+ HTTP\/1\.\d\r\n/.test(`${error.rawPacket}`)
    respondRaw(service, socket, isMethod ? 'not_found' : 'invalid_request')
  })
  await once(server.listen(service.options.port, '127.0.0.1'), 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  service.options.authority ||= host
  return {
    url: `http://${host}`,
    authority: service.options.authority,
    urls: [`http://${host}`],
    grant: (agentId, units, reference) => grantCredits(service, agentId, units, reference),
    [Symbol.asyncDispose]: async () => {
      for (const stream of service.streams) stream.end()
      for (const agent of service.agents.values()) removeWebhook(agent)
      await new Promise((resolve) => {
        server.close(resolve)
        setTimeout(() => server.closeAllConnections(), 100)
      })
    },
  }
}

/** An answer to a request that Node's parser does not hand over. */
function respondRaw(service: Service, socket: Duplex, code: Code): void {
  if (!socket.writable) return void socket.destroy()
  const [status, message] = CODES[code]
  const body = JSON.stringify({ error: { code, message } })
  const type = { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': body.length, Connection: 'close' }
  const headers = Object.entries({ ...commonHeaders(service), ...type }).map(([name, value]) => `${name}: ${value}`)
  const line = `HTTP/1.1 ${status} ${status === 404 ? 'Not Found' : 'Bad Request'}`
  socket.end([line, ...headers, '', body].join('\r\n'))
}
