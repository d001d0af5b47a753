/**
 * The rows of docs/conformance.md: one for each section of the specification that holds rules, and one for each row of its
 * larger tables. A test belongs to a section if the front of its name cites the section (`spec 6.5: …`). It belongs to the
 * row of a table if its name also contains the row's subject.
 */
import { SPECIFIED } from '../support/description/specified.ts'
import { readSections } from './sections.ts'

export interface Row {
  /** The section that a name must cite, such as `6.5`. */
  readonly section: string
  readonly about: string
  /** Text that a name must also contain if the section has several rows. */
  readonly says?: RegExp
}

const SECTIONS: readonly Row[] = readSections()
  .filter(({ holdsRules }) => holdsRules)
  .map(({ number, title }) => ({ section: number, about: title }))

/** Rows of tables, each with the text that test names must contain. */
const DETAILS: readonly Row[] = [
  ...table('1.3', [
    ['any caller', /any caller/],
    ['an agent', /registered identity/],
    ['the owner of a board', /board owner/],
    ['the recipient of a message', /recipient/],
    ['a participant of a direct message', /participant/],
  ]),
  ...table('3.2', [
    ['Authorization', /Authorization/],
    ['X-SVC-Timestamp', /X-SVC-Timestamp/],
    ['X-SVC-Nonce', /X-SVC-Nonce/],
  ]),
  ...table(
    '4.3',
    [400, 401, 403, 404, 409, 413, 415, 429, 500, 503].map((status) => [`${status}`, new RegExp(`\\b${status}\\b`)]),
  ),
  ...table('6.1', [
    ['id', /\bid\b/],
    ['from', /\bfrom\b/],
    ['to', /\bto\b/],
    ['type', /\btype\b/],
    ['ts', /\bts\b/],
    ['body', /\bbody\b/],
    ['sig', /\bsig\b/],
    ['body_enc', /\bbody_enc\b/],
    ['ephemeral_pub', /\bephemeral_pub\b/],
    ['ttl', /\bttl\b/],
    ['reply_to', /\breply_to\b/],
    ['thread_id', /\bthread_id\b/],
  ]),
  ...table('6.2', [
    ["from: the sender's agent id", /agent id/],
    ["from: the sender's address", /address/],
    ['from: another agent', /sender_mismatch/],
  ]),
  ...table('7.7', [
    ['accepting costs a unit and moves the pending request', /accept/],
    ['blocking is free', /block/],
    ['every other change', /every move|forget/],
  ]),
  ...table('8.1', [
    ['title', /title/],
    ['description', /description/],
    ['visibility', /visibility/],
    ['posting', /posting/],
  ]),
  ...table(
    '10.5',
    ['User-Agent', 'X-SVC-Timestamp', 'X-SVC-Message-ID', 'X-SVC-Delivery-ID', 'X-SVC-Signature'].map((name) => [
      name,
      new RegExp(name),
    ]),
  ),
  ...table('13.5', [
    ['verified', /: verified/],
    ['good, but addressed to another', /addressed_to_another/],
    ['not signed by the sender', /bad_signature/],
    ['cannot be opened', /cannot_open/],
    ['no key of the sender is known', /unknown_sender/],
    ['an address in from', /from is the sender's address/],
  ]),
  ...table('11.7', [
    ['page size', /page/],
    ['timestamp tolerance', /HTTP timestamp/],
    ['nonce digits', /nonce/],
    ['life of a challenge', /challenge/],
    ['length of a name', /name length/],
    ['length of an envelope id', /envelope id/],
    ['direct message', /\bDM\b/],
    ['post', /\bpost\b/],
    ['request body', /whole request/],
    ['window of ts', /window of ts|initial message timestamp/],
    ['retention and ttl', /message expiry|ttl/],
    ['title of a board', /title/],
    ['description of a board', /description/],
    ['boards for each owner', /boards per owner/],
    ['membership records', /membership records/],
    ['free units', /free units/],
    ['ceiling', /ceiling/],
    ['introductions', /introductions/],
    ['streams', /streams/],
    ['webhook secret', /webhook secret/],
    ['webhook attempts', /webhook attempts/],
  ]),
  ...SPECIFIED.map(endpoint),
]

export const ROWS: readonly Row[] = [...SECTIONS, ...DETAILS]

function table(section: string, rows: readonly (readonly [about: string, says: RegExp])[]): Row[] {
  return rows.map(([about, says]) => ({ section, about, says }))
}

/** Matches the method and the complete path. A test may have filled in a path parameter. */
function endpoint(name: string): Row {
  const [method = '', path = ''] = name.split(' ')
  const pattern = path.replaceAll(/\{\w+\}/g, '[^/ :]+')
  return { section: '12.1', about: name, says: new RegExp(`\\b${method} ${pattern}(?=$|[\\s:,;?)])`) }
}
