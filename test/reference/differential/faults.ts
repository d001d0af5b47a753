/** Requests of a differential run with one fault: in the signature, the headers or the body, or against a rule of one operation. */
import type { CallOptions } from '@svc/conformance/http/agent.ts'
import { ABSENT_AGENT, get, post, put, type Request } from './request.ts'
import type { Plan, World } from './world.ts'

type Fault = (world: World, by: number, plan: Plan) => Request

const me = (options: CallOptions): Request => ({ ...get('/v2/me'), options })
const patch = (options: CallOptions): Request => ({ method: 'PATCH', target: '/v2/me', options })
const typed = (type: string | readonly string[], body: unknown = {}): Request =>
  patch({ body, headers: { 'content-type': type } })
const coded = (coding: string | readonly string[]): Request =>
  patch({ body: {}, headers: { 'content-encoding': coding } })
const seconds = (plan: Plan): number => Math.floor(plan.nowMs() / 1_000)

/** `Authorization` with a part of the right value changed. */
function authorized({ agents }: World, by: number, change: (id: string, signature: string) => string): Request {
  const { headers } = agents[by]?.sign('GET', '/v2/me', undefined) ?? { headers: { authorization: '' } }
  const [id = '', signature = ''] = headers.authorization.replace('SVC ', '').split(':')
  return me({ headers: { ...headers, authorization: change(id, signature) } })
}

const SIGNATURES = {
  replay: ({ nonce }) => me({ sign: { nonce } }),
  'replay in upper case': ({ nonce }) => me({ sign: { nonce: nonce.toUpperCase() } }),
  stale: (_, __, plan) => me({ sign: { timestamp: seconds(plan) - 90 } }),
  early: (_, __, plan) => me({ sign: { timestamp: seconds(plan) + 90 } }),
  'old but allowed': (_, __, plan) => me({ sign: { timestamp: seconds(plan) - 50 } }),
  'timestamp 0': () => me({ sign: { timestamp: '0' } }),
  'leading zero': (_, __, plan) => me({ sign: { timestamp: `0${seconds(plan)}` } }),
  'signed timestamp': (_, __, plan) => me({ sign: { timestamp: `+${seconds(plan)}` } }),
  'no timestamp': () => me({ headers: { 'x-svc-timestamp': null } }),
  'two timestamps': (_, __, plan) => me({ headers: { 'x-svc-timestamp': [`${seconds(plan)}`, `${seconds(plan)}`] } }),
  'short nonce': () => me({ sign: { nonce: 'abc' } }),
  'odd nonce': () => me({ sign: { nonce: 'a'.repeat(33) } }),
  'long nonce': () => me({ sign: { nonce: 'a'.repeat(130) } }),
  'nonce of other digits': () => me({ sign: { nonce: 'g'.repeat(32) } }),
  'no nonce': () => me({ headers: { 'x-svc-nonce': null } }),
  'other key': (world, by) =>
    authorized(world, (by + 1) % world.agents.length, (_, signature) => `SVC ${world.agents[by]?.id}:${signature}`),
  'unknown signer': (world, by) => authorized(world, by, (_, signature) => `SVC ${ABSENT_AGENT}:${signature}`),
  'no agent id': (world, by) => authorized(world, by, (id, signature) => `SVC ${id.slice(3)}:${signature}`),
  'lower svc': (world, by) => authorized(world, by, (id, signature) => `svc ${id}:${signature}`),
  'two spaces': (world, by) => authorized(world, by, (id, signature) => `SVC  ${id}:${signature}`),
  'no padding': (world, by) => authorized(world, by, (id, signature) => `SVC ${id}:${signature.replace('==', '')}`),
  'zeros as signature': (world, by) =>
    authorized(world, by, (id) => `SVC ${id}:${Buffer.alloc(64).toString('base64')}`),
  'no credentials': () => me({ headers: { authorization: 'SVC' } }),
  'empty authorization': () => me({ headers: { authorization: '' } }),
  'other path': () => me({ sign: { target: '/v2/budget' } }),
  'other method': () => me({ sign: { method: 'POST' } }),
  'other body': () => patch({ body: { discoverable: true }, sign: { body: '{}' } }),
  'other authority': () => me({ sign: { authority: 'elsewhere.example' } }),
  'signed health': () => get('/v2/health'),
} as const satisfies Record<string, Fault>

const BODIES = {
  'body on get': () => me({ body: '{}' }),
  'text on get': () => me({ body: 'text', headers: { 'content-type': 'text/plain' } }),
  'body on delete': () => ({ method: 'DELETE', target: '/v2/webhook', options: { body: '{}' } }),
  'no body': () => patch({}),
  'empty body': () => patch({ body: '' }),
  'empty text': () => patch({ body: '', headers: { 'content-type': 'text/plain' } }),
  'white space': () => patch({ body: ' \n' }),
  json: () => patch({ body: '{"discoverable":tru}' }),
  'trailing comma': () => patch({ body: '{"discoverable":true,}' }),
  'two values': () => patch({ body: '{}{}' }),
  'a name twice': () => patch({ body: '{"discoverable":true,"discoverable":true}' }),
  'a name twice, escaped': () => patch({ body: '{"discoverable":true,"\\u0064iscoverable":true}' }),
  proto: () => patch({ body: '{"__proto__":{}}' }),
  surrogate: () => patch({ body: '{"inbox_policy":"\\ud800"}' }),
  'no UTF-8': () => patch({ body: new Uint8Array([0x7b, 0xff, 0x7d]) }),
  noncharacter: () => patch({ body: '{"inbox_policy":"\uffff"}' }),
  'large number': () => patch({ body: '{"discoverable":1e400}' }),
  '64 levels': () => patch({ body: `{"discoverable":${'['.repeat(63)}${']'.repeat(63)}}` }),
  '65 levels': () => patch({ body: `{"discoverable":${'['.repeat(64)}${']'.repeat(64)}}` }),
  bom: () => patch({ body: '\ufeff{}' }),
  'too large': () => patch({ body: `{"inbox_policy":"${'x'.repeat(98_304)}"}` }),
  'nearly too large': () => patch({ body: `{"inbox_policy":"${'x'.repeat(98_304 - 19)}"}` }),
  array: () => patch({ body: [] }),
  text: () => patch({ body: '"text"' }),
  null: () => patch({ body: { inbox_policy: null } }),
  empty: () => patch({ body: {} }),
  'extra member': () => patch({ body: { discoverable: true, name: 'x' } }),
} as const satisfies Record<string, Fault>

const TYPES = {
  'text/plain': () => typed('text/plain'),
  'text/plain and wrong JSON': () => typed('text/plain', '{'),
  'no type': () => typed(''),
  'upper case type': () => typed('Application/JSON'),
  'utf-8': () => typed('application/json; charset=UTF-8'),
  'quoted utf-8': () => typed('application/json;charset="utf-8"'),
  latin1: () => typed('application/json; charset=latin1'),
  'utf-8 and latin1': () => typed('application/json; charset=utf-8; charset=latin1'),
  'latin1 in quotes': () => typed('application/json; profile="a; charset=latin1"'),
  profile: () => typed('application/json; profile=x'),
  suffix: () => typed('application/json+x'),
  'two types': () => typed(['application/json', 'application/json']),
  gzip: () => coded('gzip'),
  identity: () => coded('Identity'),
  'two identities': () => coded(['identity', 'identity']),
} as const satisfies Record<string, Fault>

const challenge = (body: unknown, options?: CallOptions): Request => post('/v2/challenges', body, options)
const unsigned = (request: Request): Request => ({ ...request, by: -1 })

function register(members: Readonly<Record<string, unknown>>, options?: CallOptions): Fault {
  return ({ agents }, by) => {
    const { name, pubkey } = agents[by] ?? {}
    return post('/v2/agents/register', { name, pubkey, challenge: 'none', nonce: '1', ...members }, options)
  }
}

const IDENTITIES = {
  'zeros as key': () => unsigned(challenge({ pubkey: `ed25519:${'0'.repeat(64)}` })),
  'identity as key': () => unsigned(challenge({ pubkey: `ed25519:01${'0'.repeat(62)}` })),
  'short key': () => unsigned(challenge({ pubkey: 'ed25519:00' })),
  'number as key': () => unsigned(challenge({ pubkey: 1 })),
  'no key': () => unsigned(challenge({})),
  'challenge of a wrong type': () => unsigned(challenge({}, { headers: { 'content-type': 'text/plain' } })),
  'signed challenge of a wrong key': () => challenge({ pubkey: `ed25519:${'0'.repeat(64)}` }),
  'signed challenge without key': () => challenge({}),
  'signed challenge of a wrong type': () => challenge({}, { headers: { 'content-type': 'text/plain' } }),
  'signed challenge of another': ({ agents }, by) => challenge({ pubkey: agents[(by + 1) % agents.length]?.pubkey }),
  'signed challenge with a member': ({ agents }, by) => challenge({ pubkey: agents[by]?.pubkey, extra: 1 }),
  'signed challenge, forged': ({ agents }, by) =>
    challenge({ pubkey: agents[by]?.pubkey, extra: 1 }, { sign: { target: '/v2/me' } }),
  'challenge with a query': ({ agents }, by) => post('/v2/challenges?x=1', { pubkey: agents[by]?.pubkey }),
  'register again': register({}),
  'register again, key in upper case': ({ agents }, by) =>
    register({ pubkey: `ed25519:${agents[by]?.pubkey.slice(8).toUpperCase()}` })({ agents } as World, by, {} as Plan),
  'register again without challenge': register({ challenge: undefined }),
  'register again with a number': register({ nonce: 1 }),
  'register again, forged': register({}, { sign: { body: '{}' } }),
  'register unsigned': (world, by, plan) => unsigned(register({})(world, by, plan)),
  'register a reserved name': register({ name: 'Admin'.toLowerCase() }),
  'register a name like a reserved one': register({ name: 'p0stmaster' }),
  'register a short name': register({ name: 'ab' }),
  'register a name of another': (world, by, plan) =>
    register({ name: world.agents[(by + 1) % world.agents.length]?.name })(world, by, plan),
  'register a new name': register({ name: 'a-new-name-of-nobody' }),
  confirm: () => post('/v2/me/revoke', { confirm_agent_id: 'x' }),
  'confirm nothing': () => post('/v2/me/revoke', {}),
} as const satisfies Record<string, Fault>

const SECRET = 'x'.repeat(32)
const URLS = [
  ...[
    'http://messages.example/',
    'wss://messages.example/',
    '',
    'messages.example',
    'https:messages.example',
    'https:///x',
  ],
  ...[
    'https://messages.example:8443/',
    'https://messages.example:0/',
    'https://user@messages.example/',
    'https://@messages.example/',
  ],
  ...[
    'https://messages.example/#x',
    'https://messages.example/#',
    'https://messages.example/a b',
    'https://messages.example/{a}',
  ],
  ...[
    'https://messages.example\\@10.0.0.1/',
    'https://b\u00fccher.example/',
    'https://ex%61mple.com/',
    'https://example..com/',
  ],
  ...[
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://10.0.0.1./',
    'https://[::1]/',
    'https://[fe80::1]/',
  ],
  ...[
    'https://[::ffff:8.8.8.8]/',
    'https://[64:ff9b::10.0.0.1]/',
    'https://[2002:808:808::1]/',
    'https://[2001:0:808:808::1]/',
  ],
  ...[
    'https://[2606:4700:1:1:0:5efe:a00:1]/',
    'https://[4000::1]/',
    'https://192.88.99.1/',
    `https://a.example/${'x'.repeat(2_048)}`,
  ],
] as const

const WEBHOOKS: Readonly<Record<string, Fault>> = {
  'short secret': () => put('/v2/webhook', { url: 'http://messages.example/', secret: SECRET.slice(1) }),
  'secret of 32 characters': () =>
    put('/v2/webhook', { url: 'http://messages.example/', secret: '\u{1f600}'.repeat(32) }),
  'long secret': () => put('/v2/webhook', { url: 'http://messages.example/', secret: 'x'.repeat(257) }),
  ...Object.fromEntries(
    URLS.map((url) => [`webhook ${url.slice(0, 60)}`, () => put('/v2/webhook', { url, secret: SECRET })]),
  ),
}

/** Only streams that are refused: a stream that opens counts until the server has noticed its end. */
const stream = (query: string, id?: string | readonly string[]): Request => ({
  ...get(`/v2/stream${query}`),
  options: id === undefined ? {} : { headers: { 'last-event-id': id } },
})
const STREAMS = {
  'stream after x': () => stream('?after=x'),
  'stream with a limit': () => stream('?limit=1'),
  'stream behind no id': () => stream('', ''),
  'stream behind x': () => stream('?after=1', 'x'),
  'stream behind two ids': () => stream('', ['1', '1']),
  'stream behind 1, after x': () => stream('?after=x', '1'),
  'stream of nobody': () => unsigned(stream('?after=x')),
} as const satisfies Record<string, Fault>

export const FAULTS: Readonly<Record<string, Fault>> = {
  ...SIGNATURES,
  ...BODIES,
  ...TYPES,
  ...IDENTITIES,
  ...WEBHOOKS,
  ...STREAMS,
}
