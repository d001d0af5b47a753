/** Well-formed answers that belong to another request. The caller refuses them, whoever sent them. */
import { createKeyPair } from '@svc/svc1/key-pair.ts'
import { formatPublicKey } from '@svc/svc1/public-key.ts'
import { expect, test } from 'vitest'
import { judgeCharges, judgeOperations } from './admin.ts'
import { createBoard, getBoard, judgeBoards, setMember } from './boards.ts'
import { findAgent, findAgentByName, getIdentity, registerAgent, updateSettings } from './identity.ts'
import {
  getReceipt,
  listArrivals,
  listHeads,
  listMoved,
  readArrivals,
  replayEvents,
  sendMessage,
  setContact,
  setVisibility,
  setVote,
} from './messaging.ts'
import { openStream } from './stream.ts'

const [alice, mallory] = [createKeyPair(), createKeyPair()]
const agentOf = (key: typeof alice, changes = {}) => ({
  agent_id: key.agentId,
  name: 'alice',
  pubkey: formatPublicKey(key.publicKey),
  created_at: 1,
  revoked: false,
  ...changes,
})
const found = { agent: agentOf(alice) }
/** The victim's id with the attacker's key. */
const forged = { agent: agentOf(alice, { pubkey: formatPublicKey(mallory.publicKey) }) }
const other = { agent: agentOf(mallory) }
const identity = { address: 'alice@x', inbox_policy: 'open', discoverable: false }
const [board, second] = ['a'.repeat(20), 'b'.repeat(20)]
const details = {
  id: board,
  owner: alice.agentId,
  title: 't',
  description: '',
  visibility: 'public',
  posting: 'members',
  created_at: 1,
}
const facts = {
  id: 'message-1',
  digest: '0'.repeat(64),
  ts_ms: 1,
  ttl: 0,
  reply_to: null,
  thread_id: null,
  payload_bytes: 1,
}
const sent = { status: 'accepted', lane: 'inbox', duplicate: false, sender_authenticated: true }
const head = { head: 1, revoked: false }
const arrivals = [{ agent_id: alice.agentId, after: 5 }]
const entry = (cursor: number) => ({ cursor, message_id: 'message-1' })
const charge = { operation: 'budget:1', agent_id: alice.agentId, units: 1, introduction_peer: null }
const events = { earliest: 1, latest: 9 }

const id = { agent_id: alice.agentId }
interface AnyCall {
  readonly subject: string
  isReply(value: unknown): boolean
  isAnswerTo(request: never, reply: never): boolean
}
type Case = [name: string, call: AnyCall, request: unknown, reply: unknown]
const RIGHT: Case[] = [
  ['the agent', findAgent, id, found],
  ['no agent', findAgent, id, { agent: null }],
  ['the agent by name', findAgentByName, { name: 'alice' }, found],
  ['the identity', getIdentity, id, { ...found, ...identity }],
  ['heads', listHeads, { agent_ids: [alice.agentId] }, { logs: [head] }],
  ['moved logs', listMoved, { agent_ids: [alice.agentId], heads: [5] }, { moved: [{ index: 0, head: 9 }] }],
  ['arrivals', listArrivals, { logs: arrivals }, { logs: [{ through: 9, entries: [entry(6), entry(9)] }] }],
  ['events', replayEvents, { ...id, after: 5, limit: 9 }, { ...events, next_cursor: 7, cursors: [6, 7] }],
  ['no events', replayEvents, { ...id, after: 5, limit: 9 }, { ...events, next_cursor: 5, cursors: [] }],
  ['boards', judgeBoards, { ...id, board_ids: [board, second] }, { readable: [second], open: [] }],
  ['charges', judgeCharges, { operations: ['budget:1'], pairs: [] }, { charges: [charge], introduced: [] }],
]
const WRONG: Case[] = [
  ['the key of another agent', findAgent, id, forged],
  ['another agent', findAgent, id, other],
  ['the key of another agent', findAgentByName, { name: 'alice' }, forged],
  ['another name', findAgentByName, { name: 'bob' }, found],
  ['the key of another agent', getIdentity, id, { ...forged, ...identity }],
  ['another agent', getIdentity, id, { ...other, ...identity }],
  ['another agent', updateSettings, { ...id, settings: {} }, { ...other, ...identity }],
  [
    'the id of another key',
    registerAgent,
    { name: 'alice', pubkey: formatPublicKey(alice.publicKey), challenge: '', nonce: '' },
    { agent_id: mallory.agentId, address: 'alice@x' },
  ],
  ['another message', sendMessage, { facts }, { ...sent, msg_id: 'message-2' }],
  [
    'another message',
    getReceipt,
    { ...id, id: 'message-1' },
    { msg_id: 'message-2', status: 'accepted', accepted_at: 1 },
  ],
  ['too few heads', listHeads, { agent_ids: [alice.agentId, mallory.agentId] }, { logs: [head] }],
  ['too many heads', listHeads, { agent_ids: [alice.agentId] }, { logs: [head, head] }],
  ['a log that stayed', listMoved, { agent_ids: [alice.agentId], heads: [5] }, { moved: [{ index: 0, head: 5 }] }],
  ['a log without a place', listMoved, { agent_ids: [alice.agentId], heads: [5] }, { moved: [{ index: 1, head: 9 }] }],
  ['too few logs', listArrivals, { logs: arrivals }, { logs: [] }],
  ['older entries', listArrivals, { logs: arrivals }, { logs: [{ through: 9, entries: [entry(5)] }] }],
  ['an older position', listArrivals, { logs: arrivals }, { logs: [{ through: 4, entries: [] }] }],
  ['entries twice', listArrivals, { logs: arrivals }, { logs: [{ through: 9, entries: [entry(6), entry(6)] }] }],
  ['no progress', readArrivals, { entries: [entry(1)] }, { looked_at: 0, found: [] }],
  ['more entries than asked for', readArrivals, { entries: [entry(1)] }, { looked_at: 2, found: [] }],
  ['an entry that was not asked for', readArrivals, { entries: [entry(1)] }, { looked_at: 1, found: [1] }],
  [
    'events that were read before',
    replayEvents,
    { ...id, after: 5, limit: 9 },
    { ...events, next_cursor: 7, cursors: [5] },
  ],
  ['events in disorder', replayEvents, { ...id, after: 5, limit: 9 }, { ...events, next_cursor: 8, cursors: [8, 7] }],
  ['an older cursor', replayEvents, { ...id, after: 5, limit: 9 }, { ...events, next_cursor: 4, cursors: [] }],
  ['another board', getBoard, { viewer: null, board_id: second }, details],
  ['another owner', createBoard, { owner: mallory.agentId, board: {} }, details],
  ['another role', setMember, { role: 'reader' }, { role: 'writer' }],
  ['another board', judgeBoards, { ...id, board_ids: [board] }, { readable: [second], open: [] }],
  ['another open board', judgeBoards, { ...id, board_ids: [board] }, { readable: [], open: [second] }],
  ['another state', setContact, { state: 'blocked' }, { state: 'none' }],
  ['another visibility', setVisibility, { hidden: true }, { hidden: false }],
  ['another vote', setVote, { voted: true }, { status: 'removed', quota_bonus: 0 }],
  ['too few verdicts', judgeOperations('messaging'), { operations: ['budget:1'] }, { verdicts: [] }],
  [
    'the charge of another operation',
    judgeOperations('messaging'),
    { operations: ['budget:2'] },
    { verdicts: [{ done: true, charge }] },
  ],
  ['too few charges', judgeCharges, { operations: ['budget:1'], pairs: [] }, { charges: [], introduced: [] }],
  [
    'too few pairs',
    judgeCharges,
    { operations: [], pairs: [{ ...id, peer: mallory.agentId }] },
    { charges: [], introduced: [] },
  ],
]

test.each(RIGHT.map(([name, call, ...rest]) => [call.subject, name, call, ...rest] as const))(
  '%s: an answer with %s is accepted',
  (_subject, _name, call, request, reply) => {
    expect([call.isReply(reply), call.isAnswerTo(request as never, reply as never)]).toEqual([true, true])
  },
)

test.each(WRONG.map(([name, call, ...rest]) => [call.subject, name, call, ...rest] as const))(
  '%s: an answer with %s is well-formed, and refused',
  (_subject, _name, call, request, reply) => {
    expect([call.isReply(reply), call.isAnswerTo(request as never, reply as never)]).toEqual([true, false])
  },
)

test.each([
  ['http://10.0.0.7:9000', true],
  ['http://svc_stream-0.stream.svc:9000', true],
  ['http://[fd00::7]:9000', true],
  ['https://10.0.0.7:9000', false],
  ['http://10.0.0.7', false],
  ['http://10.0.0.7:9000/', false],
  ['http://10.0.0.7:9000/path', false],
  ['http://10.0.0.7:9000?path=', false],
  ['http://10.0.0.7:9000#', false],
  ['http://user:password@10.0.0.7:9000', false],
  ['http://10.0.0.7:9000 ', false],
  ['http://10.0.0.7\\@host:9000', false],
  ['ftp://10.0.0.7:9000', false],
])('the address of a stream names a host and a port, and nothing else: %s: %s', (address, expected) => {
  expect(openStream.isReply({ address, ticket: 'A'.repeat(43), silence_seconds: 1 })).toBe(expected)
})
