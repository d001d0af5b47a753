/**
 * What the specification asks for, row by row, in words of our own: a row for each row of its tables and each of its
 * numbered rules, and one for each decision. A test belongs to a row where the front of its name cites the row's source
 * (`service.md, Limits: …`, `decisions 18: …`) and, for the row of a table, its name says what the row is about.
 */
import { SPECIFIED } from '../support/specified.ts'

export interface Row {
  /** `decisions 18`, `service.md, Limits`, `service.md, Endpoint rules 5`: what a name has to cite. */
  readonly source: string
  /** What it is about, in a few words. */
  readonly about: string
  /** What a name has to say besides, where its source has more than one row. */
  readonly says?: RegExp
  /** No operation of it exists so far, so no test can. */
  readonly notBuilt?: true
}

export const ROWS: readonly Row[] = [
  ...table('service.md, Agent', [
    ['agent_id: base58 of the hash of the key', /by id|fields|agent id/i],
    ['name', /name|fields/],
    ['pubkey', /key|fields/],
    ['created_at', /time|fields|created/],
    ['revoked', /revoked|fields/],
  ]),
  ...table('service.md, Board', [
    ['title: 1 to 120 characters', /title/],
    ['description: up to 2000 characters', /description/],
    ['visibility: public, unlisted or private', /visibility/],
    ['posting: members or anyone', /posting/],
  ]),
  ...table('service.md, Envelope', [
    ['id: 8 to 80 characters, chosen by the client', /\bid\b/],
    ['from: the signer', /\bfrom\b/],
    ['to: an address or a board', /\bto\b/],
    ['type: one of four', /\btype\b/],
    ['ts: a date-time', /\bts\b/],
    ['body, of a signed one', /\bbody\b/],
    ['sig, of a signed one', /\bsig\b/],
    ['body_enc, of a sealed one', /\bbody_enc\b/],
    ['ephemeral_pub, of a sealed one', /\bephemeral_pub\b/],
    ['ttl: 0 or more', /\bttl\b/],
    ['reply_to', /\breply_to\b/],
    ['thread_id', /\bthread_id\b/],
  ]),
  ...table('service.md, Other response shapes', [
    ['registration: agent_id and address', /registration/],
    ['health: status, service and version', /health/],
    ['vote: status and bonus', /vote/],
    ['ack, revocation: a status', /ack, revoke/],
  ]),
  ...table('service.md, Contact state', [
    ['accepting costs a unit and promotes the pending request', /accept/],
    ['blocking is free and goes before everything else', /block/],
    ['forgetting is free', /every move|forget/],
  ]),
  ...table('service.md, Post hidden flag', [
    ['hidden by the owner: out of feeds, readable by the owner', /hidden|hides/],
    ['restored by the owner', /restor/],
  ]),
  ...table('service.md, Vote', [
    ['one vote for an accessible post of somebody else, for 1 unit', /voted|votes/],
    ['taken back by the voter', /removed|taken back|takes/],
  ]),
  ...['Board membership role', 'Inbox policy', 'Message acknowledgment', 'Identity lifecycle', 'Board visibility'].map(
    (section): Row => ({ source: `service.md, ${section}`, about: 'states and who moves them' }),
  ),
  ...SPECIFIED.map(endpoint),
  ...numbered('service.md, Endpoint rules', [
    'a lookup is by exact name, and there is no search',
    'unacked=true leaves out what was acknowledged',
    'who may read, acknowledge and see the receipt of a message',
    'next_cursor is empty at the end; a thread is named by its root',
    'sending: ids and times are the client’s, retries are free, another envelope is a conflict',
    'lanes of posts and of direct messages',
    'admission by policy, contact and block',
    'subscribing to and leaving a board',
    '20 boards for each owner, 100 records for each board',
    'hidden posts are in no feed',
    'one vote for each identity, none for an own post',
    'a private board on which anyone posts is invalid',
  ]),
  ...table('service.md, Headers', [
    ['Authorization', /Authorization/],
    ['X-SVC-Timestamp', /X-SVC-Timestamp/],
    ['X-SVC-Nonce', /X-SVC-Nonce/],
  ]),
  { source: 'service.md, Signed string', about: 'seven lines, each of them covered' },
  { source: 'service.md, Rules', about: 'tolerance, nonces, what cannot change after signing' },
  { source: 'service.md, Registration procedure', about: 'challenge, work, registration' },
  { source: 'service.md, Name rules', about: 'lower case, 3 to 32 characters, never taken over' },
  ...table('service.md, Who may do what', [
    ['any caller', /any caller/],
    ['a registered identity', /registered identity/],
    ['the owner of a board', /board owner/],
    ['the recipient of a message', /recipient/],
    ['a participant of a direct message', /participant/],
  ]),
  { source: 'service.md, Event and Events', about: 'the durable history and its pages' },
  { source: 'service.md, Stream', about: 'server-sent events' },
  { source: 'service.md, Webhook', about: 'configuration, jobs, deliveries' },
  ...['X-SVC-Timestamp', 'X-SVC-Message-ID', 'X-SVC-Delivery-ID', 'X-SVC-Signature'].map(
    (name): Row => ({ source: 'service.md, Delivery headers', about: name, says: new RegExp(name) }),
  ),
  { source: 'service.md, Operation to event', about: 'acceptance makes an event, and nothing else' },
  ...table(
    'service.md, Errors',
    [400, 401, 403, 404, 409, 413, 415, 429, 500, 503].map((status) => [`${status}`, new RegExp(`\\b${status}\\b`)]),
  ),
  ...table('service.md, Limits', [
    ['page size 1 to 100, 50 by default', /page/],
    ['timestamp within 60 seconds', /HTTP timestamp/],
    ['nonce of 32 to 128 hex digits', /nonce/],
    ['challenge: 5 minutes, once', /challenge/],
    ['name: 3 to 32', /name length/],
    ['envelope id: 8 to 80', /envelope id/],
    ['direct message: 4000 characters and 16 KiB', /\bDM\b/],
    ['post: 16000 characters and 32 KiB', /\bpost\b/],
    ['whole request: 96 KiB', /whole request/],
    ['ts: 5 minutes behind to 1 minute ahead', /window of ts|initial message timestamp/],
    ['expiry: retention or ttl, whichever is less', /message expiry|ttl/],
    ['expired messages leave reads at once and are purged later', /expired messages/],
    ['board title: 1 to 120', /title/],
    ['board description: 2000', /description/],
    ['boards of an owner: 20', /boards per owner/],
    ['records of a board: 100', /membership records/],
    ['free units of a day: 100', /free units/],
    ['ceiling of a day: 1000', /ceiling/],
    ['introductions of a day: 10', /introductions/],
    ['streams: 2 of an identity, 200 of a process, 5 minutes', /streams/],
    ['webhook secret: 32 to 256', /webhook secret/],
    ['webhook attempts: 5', /webhook attempts/],
  ]),
  ...table('service.md, Budget rules', [
    ['a message: a unit for each KiB and recipient, at least 1', /payload_bytes|KiB/],
    ['creating a board: 10 units', /creating a board/],
    ['settings, memberships, contacts and votes: 1 unit', /what costs|1 unit/],
    ['what is allowed with an exhausted budget', /exhausted|no units left/],
    ['reads and acks spend nothing', /reads and acks/],
    ['credits cover units, and neither ceiling nor introductions', /credits cover|never cover/],
    ['first contacts count, under an open policy too', /first contact/],
    ['a vote grants nothing', /bonus/],
    ['credits are the operator’s, once for each reference', /grant|reference/],
    ['rates are counted by client address, and forwarded headers not believed', /forwarded|client address/],
  ]),
  { source: 'service.md, Versioning', about: '2.0.0, under /v2' },
  ...numbered('decisions', [
    'times are Unix seconds; ts is RFC 3339, ttl seconds',
    'the form of keys, and which keys are refused',
    'agent ids',
    'canonical base64 and the lengths it must have',
    'nonces are bytes, remembered for ten minutes, used up by any verified request',
    'I-JSON, and values that survive a round trip',
    'undeclared members, parameters and bodies are refused',
    'the check of a signature, the order of checks, and where it holds',
    'challenges and proofs of work',
    'answers to registrations, and their order',
    'addresses, and what a new identity begins with',
    'what a change of settings costs',
    'what revocation does',
    'the discovery manifest',
    'canonical JSON and the signature of an envelope',
    'sealed envelopes',
    'size and cost are of the same bytes',
    'identical retries and conflicting ids',
    'whom an envelope may be addressed to, and who it is from',
    'the window of ts, ttl, and when a message expires',
    'replies, threads and their lists',
    'refusals of admission, and the order of faults',
    'the lane of a message',
    'introductions',
    'promotion of a pending request; blocking leaves what was delivered',
    'contacts: oneself, strangers, repeats, none',
    'ids and posting mode of boards',
    'who may read and post',
    'roles: who may set which on whom',
    'membership records and what they cost',
    'recipients of a post',
    'the list of boards',
    'hidden posts',
    'votes',
    'order, cursors and pages of lists',
    'acks and receipts of others',
    'event cursors are contiguous and visible in order',
    'cursors of events in requests',
    'the wire format of streams',
    'how many streams',
    'the configuration of webhooks',
    'attempts of deliveries',
    'which addresses are public',
  ]),
  ...numbered(
    'decisions',
    [
      'the words of status members, and the bonuses',
      'error codes under their statuses, and Retry-After',
      'what is not found, what is described, and X-Request-Id',
      'request rates',
      'units, ceiling, and giving back',
      'credits by reference',
      'ids stay taken after a purge',
      'the earliest and the latest cursor, and Date',
      'what is free works without the budget service',
    ],
    44,
  ),
]

/** Rows of one source, each with what names must say. */
function table(source: string, rows: readonly (readonly [about: string, says: RegExp])[]): Row[] {
  return rows.map(([about, says]) => ({ source, about, says }))
}

function numbered(source: string, rows: readonly string[], first = 1): Row[] {
  return rows.map((about, at) => ({ source: `${source} ${first + at}`, about }))
}

/** Method and path, the path to its end; a test may have filled in a name. */
function endpoint(name: string): Row {
  const [method = '', path = ''] = name.split(' ')
  const pattern = path.replaceAll(/\{\w+\}/g, '[^/ :]+')
  return { source: 'service.md, Endpoints', about: name, says: new RegExp(`\\b${method} ${pattern}(?=$|[\\s:,;?])`) }
}
