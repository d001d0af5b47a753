/** Requests whose signature verified, but which identity does not admit. */
import { ServiceError } from '@svc/contracts/errors.ts'
import { admitRequest } from '@svc/contracts/identity.ts'
import type { KeyPair } from '@svc/svc1/key-pair.ts'
import { formatPublicKey } from '@svc/svc1/public-key.ts'
import {
  ABSENT_AGENT_ID,
  ABSENT_BOARD_ID,
  ABSENT_MESSAGE_ID,
  ABSENT_NAME,
  OPERATIONS,
} from '@svc/test/support/description/operations.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Harness, JSON_BODY, type Outgoing, startHarness } from '../support/harness.ts'

const APP = 'https://app.example'
const PREFLIGHT = { origin: APP, 'access-control-request-method': 'POST' }
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']

let h: Harness
let alice: KeyPair
const unhandled: unknown[] = []
const note = (error: unknown): void => void unhandled.push(error)
beforeAll(async () => {
  process.on('unhandledRejection', note)
  h = await startHarness({ SVC_CORS_ORIGINS: APP })
  alice = h.register('alice')
})
afterAll(async () => {
  process.off('unhandledRejection', note)
  await h[Symbol.asyncDispose]()
})

test.each<[string, () => unknown]>([
  ['409 nonce_replayed', () => ({ replayed: true, revoked: false })],
  ['401 signer_revoked', () => ({ replayed: false, revoked: true })],
  ['403 forbidden', () => ({ replayed: true, revoked: false, suspended: { until: null } })],
  [
    '503 unavailable',
    () => {
      throw new ServiceError('unavailable')
    },
  ],
])(
  'spec 3.1, 3.5: an admission that ends in %s is the answer on every path and method',
  async (expected, admission) => {
    h.answer(admitRequest, admission)
    const answered: Record<string, string> = {}
    for (const request of requests()) {
      const { status, body } = await h.sendSigned(alice, request)
      const code = (body as { error?: { code: string } } | undefined)?.error?.code
      answered[nameOf(request)] = `${status} ${code}`
    }
    const all = Object.fromEntries(requests().map((request) => [nameOf(request), expected]))
    // An identical repeat of a registration is answered for a revoked key too (spec 5.6).
    if (expected === '401 signer_revoked') all['POST /v2/agents/register'] = '201 undefined'
    expect(answered).toEqual(all)
    expect(unhandled).toEqual([])
  },
)

test.each([
  [null, 'the operator of this service has suspended this agent without a set end'],
  [1_800_000_000, 'the operator of this service has suspended this agent until 2027-01-15T08:00:00Z'],
])('spec 12.4: the answer to a suspended agent says who, and until when: %s', async (until, message) => {
  h.answer(admitRequest, () => ({ replayed: false, revoked: false, suspended: { until } }))
  expect(await h.sendSigned(alice, { target: '/v2/me' })).toMatchObject({
    status: 403,
    body: { error: { code: 'forbidden', message } },
  })
})

/** Every operation, and every path and method without one. */
function requests(): Outgoing[] {
  const pubkey = formatPublicKey(alice.publicKey)
  return [
    ...OPERATIONS.map(({ method, path, body }) => ({
      method,
      target: path
        .replace('{name}', ABSENT_NAME)
        .replace('{agent}', ABSENT_AGENT_ID)
        .replace('{board}', ABSENT_BOARD_ID)
        .replace('{id}', ABSENT_MESSAGE_ID),
      ...(body === undefined ? {} : { headers: JSON_BODY, body: JSON.stringify(withKey(body, pubkey)) }),
    })),
    ...['/openapi.json', '/.well-known/agent.json', '/docs', '/%zz'].map((target) => ({ target })),
    ...METHODS.map((method) => ({ method, target: '/nowhere' })),
    { method: 'DELETE', target: '/v2/messages' },
    ...['/v2/messages', '/nowhere', '/%zz'].map((target) => ({ method: 'OPTIONS', target, headers: PREFLIGHT })),
  ]
}

/** Puts the signer's own key into a body that has a key. */
function withKey(body: unknown, pubkey: string): unknown {
  return typeof body === 'object' && body !== null && 'pubkey' in body ? { ...body, pubkey } : body
}

function nameOf({ method = 'GET', target, headers }: Outgoing): string {
  return `${method} ${target}${headers?.origin === undefined ? '' : ' (preflight)'}`
}
