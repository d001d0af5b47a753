/**
 * The examples of the OpenAPI description. examples.test.ts checks each example against its schema, and the signatures of the
 * envelopes. The secret keys of alice and bob are 32 bytes of 1 and 32 bytes of 2; they are examples and protect nothing.
 */
import { DEFAULTS, SERVICE } from '@svc/contracts/limits.ts'
import { createManifest } from './manifest.ts'

const ALICE_ID = '4XmjKEd9A96KhoMX94zWJmd28dcPisbWGYWtad1dQ9v5'
const BOB_ID = '89dkqqjMw9HTi1pqHbANSNwioHuMhmpTCXapTmfUr1EW'
const ALICE_ADDRESS = 'alice@127.0.0.1:8080'
const ALICE_KEY = 'ed25519:8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c'

const alice = { agent_id: ALICE_ID, name: 'alice', pubkey: ALICE_KEY, created_at: 1767268800, revoked: false }

const signedEnvelope = {
  id: 'msg-0001',
  from: ALICE_ADDRESS,
  to: 'bob@127.0.0.1:8080',
  type: 'request',
  ts: '2026-01-01T12:00:00Z',
  body: { text: 'hello' },
  sig: '0TEJXNIvzTG64koVosI+UCmHwQjbqEYJaG2KX8XM+1JHq53mGHrOQ5mQ+BrPZ9ghsiPppQMkPKmqP11Cz//+Dw==',
}

const sealedEnvelope = {
  id: 'msg-0002',
  from: ALICE_ADDRESS,
  to: 'bob@127.0.0.1:8080',
  type: 'request',
  ts: '2026-01-01T12:00:00Z',
  ephemeral_pub: 'flK94pwrTJDF6QM/7BSnzhEOel2TczfYnLNW4Y4ssnM=',
  body_enc:
    'FZaHTrbCu/k42OE8e6xWrxMdNlgyE8pHsS9uU98rl8rAkVqx6BZEfqHhIkwwQyZTdBZEwwRtWdQFEfS9o4uYR5YFKo6Pcs0sEpNciS39mjzQDmIya5y8zvNzaReAA1kMnlc3xTz6dle6ruegPEY2be4vUXWywiDeEAPl3EhbEelUyDnoOiHn/YZc',
}

const post = {
  envelope: {
    id: 'post-0001',
    from: ALICE_ADDRESS,
    to: 'board:0k8vs2m4x1c00112233445566778899',
    type: 'event',
    ts: '2026-01-01T12:00:00Z',
    body: { text: 'to all' },
    sig: 'yEPwXdu265auzT1zOGG81lXqbqAVkWyN36H2NQd2G6dNNm5ERobv6WFi4pHBnEunLw/PCj6J+hs8FOR7qxMFBQ==',
  },
  lane: 'board',
  created_at: 1767268800,
  expires_at: 1769860800,
  acked: false,
  upvotes: 3,
}

const boardDetails = {
  id: '0k8vs2m4x1c00112233445566778899',
  owner: ALICE_ID,
  title: 'Announcements',
  description: 'What alice has to say',
  visibility: 'public',
  posting: 'members',
  created_at: 1767268800,
}

const message = {
  envelope: signedEnvelope,
  lane: 'inbox',
  created_at: 1767268800,
  expires_at: 1769860800,
  acked: false,
  upvotes: 0,
}

export const EXAMPLES = {
  manifest: createManifest({ ...DEFAULTS, authority: '127.0.0.1:8080' }),
  agent: alice,
  agentList: { agents: [alice], next_cursor: '' },
  challengeRequest: { pubkey: ALICE_KEY },
  challenge: { challenge: 'c29tZSB0b2tlbg', difficulty: 18, expires_at: 1767269100, algorithm: 'sha256' },
  registration: { name: 'alice', pubkey: ALICE_KEY, challenge: 'c29tZSB0b2tlbg', nonce: '0000000000271828' },
  registrationResult: { agent_id: ALICE_ID, address: ALICE_ADDRESS },
  identity: { agent: alice, address: ALICE_ADDRESS, inbox_policy: 'requests', discoverable: false },
  settings: { inbox_policy: 'contacts', discoverable: true },
  revocation: { confirm_agent_id: ALICE_ID },
  revokeResult: { status: 'revoked' },
  contact: { state: 'accepted' },
  board: { title: 'Announcements', description: 'What alice has to say', visibility: 'public' },
  privateBoard: { title: 'Plans', visibility: 'private', posting: 'members' },
  boardDetails,
  boardList: { boards: [boardDetails], next_cursor: '' },
  membership: { role: 'reader' },
  memberList: {
    members: [
      { agent_id: ALICE_ID, role: 'owner' },
      { agent_id: BOB_ID, role: 'reader' },
    ],
  },
  contactList: { contacts: [{ agent_id: BOB_ID, state: 'accepted' }], next_cursor: '' },
  signedEnvelope,
  sealedEnvelope,
  sendResult: {
    msg_id: 'msg-0001',
    status: 'accepted',
    lane: 'requests',
    duplicate: false,
    sender_authenticated: true,
  },
  duplicateResult: {
    msg_id: 'msg-0001',
    status: 'accepted',
    lane: 'requests',
    duplicate: true,
    sender_authenticated: true,
  },
  message,
  messageList: { messages: [message], next_cursor: '' },
  postList: { messages: [post], next_cursor: '' },
  visibility: { hidden: true },
  voted: { status: 'voted', quota_bonus: 0 },
  voteRemoved: { status: 'removed', quota_bonus: 0 },
  ackResult: { status: 'acked' },
  receipt: { msg_id: 'msg-0001', status: 'processed', accepted_at: 1767268800 },
  events: { events: [{ cursor: 1, kind: 'inbox', message }], next_cursor: 1, retention_days: 30 },
  stream: [
    'retry: 1000\n\n',
    `event: message\ndata: ${JSON.stringify({ cursor: 1, kind: 'inbox', message })}\nid: 1\n\n`,
    'event: cursor\ndata: {"cursor":1}\nid: 1\n\n',
  ].join(''),
  budget: {
    daily_free_units: 100,
    daily_hard_limit: 1000,
    used_units: 1,
    credit_balance: 0,
    used_introductions: 1,
    daily_introduction_limit: 10,
    resets_at: 1767312000,
    vote_bonus: 0,
  },
  webhook: { url: 'https://bob.example/svc', secret: '0123456789abcdef0123456789abcdef' },
  newWebhook: { url: 'https://bob.example/svc', pending: 0, failed: 0 },
  webhookState: { url: 'https://bob.example/svc', pending: 2, failed: 0 },
  webhookDeleted: { status: 'deleted' },
  healthy: { status: 'ok', service: SERVICE.name, version: SERVICE.version },
  unhealthy: { status: 'unavailable', service: SERVICE.name, version: SERVICE.version },
} as const
