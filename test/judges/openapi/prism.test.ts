/**
 * @stoplight/prism-cli as a validating proxy: every operation succeeds through it, and it compares each request that we accept
 * and each answer that we give with the served `/openapi.json`.
 */
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { solveWork } from '@svc/svc1/pow.ts'
import { beforeAll, expect, test } from 'vitest'
import { Agent, call, type HttpAnswer, type Place } from '../../support/client/agent.ts'
import { bodyTextOf, OPERATIONS, targetOf } from '../../support/description/operations.ts'
import { SPECIFIED } from '../../support/description/specified.ts'
import { takePorts } from '../../support/engines/engines.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'
import { type ExpectedFailures, expectOnly } from '../expected.ts'
import { startJudge } from '../run-judge.ts'
import { saveDescription } from './served-description.ts'

const VIOLATIONS: ExpectedFailures = {}
const WITHOUT_SUCCESS: ExpectedFailures = {
  'GET /v2/stream': 'prism passes an answer on when it is complete, and a stream does not end while prism waits',
}
const STREAM_LIMIT_MS = 3_000

let h: SharedHarness
/** The system behind prism. */
let place: Place

beforeAll(async () => {
  await using stack = new AsyncDisposableStack()
  h = stack.use(await shareHarness('roomy'))
  const description = stack.use(await saveDescription(h.place))
  place = { url: await startPrism(stack, description.path), authority: h.place.authority }
  const started = stack.move()
  return () => started.disposeAsync()
})

/** @returns its URL. */
async function startPrism(stack: AsyncDisposableStack, path: string): Promise<string> {
  const url = `http://127.0.0.1:${await takePorts()}`
  const child = startJudge('@stoplight/prism-cli', ['proxy', path, h.place.url, '--port', new URL(url).port], {
    program: 'prism',
  })
  stack.defer(() => void child.kill())
  child.stderr?.resume()
  for await (const line of createInterface({ input: child.stdout as Readable })) {
    if (line.includes('Prism is listening')) break
  }
  child.stdout?.resume()
  return url
}

interface Violation {
  location: string[]
  message: string
}

const findings = new Set<string>()
const succeeded = new Set<string>()

/** Notes what prism found, and whether the operation succeeded. A request that we refuse may violate the description. */
async function judge(operation: string, asked: Promise<HttpAnswer>): Promise<HttpAnswer> {
  const answer = await asked
  const { status, headers } = answer
  const violations = JSON.parse(headers.get('sl-violations') ?? '[]') as Violation[]
  for (const { location, message } of violations) {
    if (location[0] === 'response' || status < 300)
      findings.add(`${operation}: ${status}: ${location.join('.')} ${message}`)
  }
  if (headers.get('content-type')?.startsWith('application/problem+json') === true) {
    const { title, detail } = answer.body as Record<string, string>
    findings.add(`${operation}: prism: ${title}: ${detail}`)
  }
  if (status < 300) succeeded.add(operation)
  return answer
}

async function register(): Promise<Agent> {
  const agent = new Agent(place)
  const { name, pubkey } = agent
  const { body } = await judge('POST /v2/challenges', call(place, 'POST', '/v2/challenges', { body: { pubkey } }))
  const { challenge, difficulty } = body as { challenge: string; difficulty: number }
  const work = { challenge, nonce: await solveWork(challenge, difficulty) }
  await judge('POST /v2/agents/register', agent.post('/v2/agents/register', { name, pubkey, ...work }))
  return agent
}

test('spec 1.4, 12.1: every operation succeeds, and every request and answer is as described', async () => {
  const [alice, bob, carol] = [await register(), await register(), await register()]
  const stream = fetch(`${place.url}/v2/stream`, {
    headers: carol.sign('GET', '/v2/stream'),
    signal: AbortSignal.timeout(STREAM_LIMIT_MS),
  }).then(
    () => succeeded.add('GET /v2/stream'),
    () => {},
  )
  await describeThemselves(alice, bob)
  await exchangeMessages(alice, bob)
  await shareABoard(alice, bob)
  await useAWebhook(bob)
  await stream
  await judge('POST /v2/me/revoke', carol.post('/v2/me/revoke', { confirm_agent_id: carol.id }))
  await refuseEverything(alice, carol)
  expectOnly(
    SPECIFIED.filter((operation) => !succeeded.has(operation)),
    WITHOUT_SUCCESS,
  )
  expectOnly(findings, VIOLATIONS)
})

async function describeThemselves(alice: Agent, bob: Agent): Promise<void> {
  const manifest = await judge('GET /.well-known/agent.json', call(place, 'GET', '/.well-known/agent.json'))
  const etag = manifest.headers.get('etag') ?? ''
  const known = call(place, 'GET', '/.well-known/agent.json', { headers: { 'if-none-match': etag } })
  expect((await judge('GET /.well-known/agent.json', known)).status).toBe(304)
  await judge('GET /v2/health', call(place, 'GET', '/v2/health'))
  await judge('PATCH /v2/me', bob.patch('/v2/me', { inbox_policy: 'open', discoverable: true }))
  await judge('GET /v2/me', bob.get('/v2/me'))
  await judge('GET /v2/agents', alice.get('/v2/agents?limit=2'))
  await judge('GET /v2/agents/{name}', call(place, 'GET', `/v2/agents/${bob.name}`))
  await judge('PUT /v2/contacts/{agent}', bob.put(`/v2/contacts/${alice.id}`, { state: 'accepted' }))
  await judge('GET /v2/contacts', bob.get('/v2/contacts'))
}

async function exchangeMessages(alice: Agent, bob: Agent): Promise<void> {
  const envelope = alice.envelope(bob, { text: 'hello', list: [1, null, 'é'] }, { ttl: 3600 })
  const { body } = await judge('POST /v2/messages', alice.post('/v2/messages', envelope))
  expect((await judge('POST /v2/messages', alice.post('/v2/messages', envelope))).body.duplicate).toBe(true)
  await judge(
    'POST /v2/messages',
    alice.post('/v2/messages', await alice.sealed(bob, 'secret', { reply_to: body.msg_id })),
  )
  await judge('GET /v2/messages/{id}', bob.get(`/v2/messages/${body.msg_id}`))
  await judge('POST /v2/messages/{id}/ack', bob.post(`/v2/messages/${body.msg_id}/ack`))
  await judge('GET /v2/messages/{id}/receipts', alice.get(`/v2/messages/${body.msg_id}/receipts`))
  await judge('GET /v2/inbox', bob.get('/v2/inbox?lane=inbox&unacked=true&limit=1'))
  await judge('GET /v2/inbox', bob.get('/v2/inbox'))
  await judge('GET /v2/export', bob.get('/v2/export?limit=100'))
  await judge('GET /v2/events', bob.get('/v2/events?after=0&limit=100'))
  await judge('GET /v2/budget', alice.get('/v2/budget'))
}

async function shareABoard(alice: Agent, bob: Agent): Promise<void> {
  const board = { title: 'News', description: 'what is new', visibility: 'public', posting: 'members' }
  const { id } = (await judge('POST /v2/boards', alice.post('/v2/boards', board))).body
  await judge('GET /v2/boards', call(place, 'GET', '/v2/boards?limit=3'))
  await judge('GET /v2/boards/{board}', call(place, 'GET', `/v2/boards/${id}`))
  const members = `/v2/boards/${id}/members`
  await judge('PUT /v2/boards/{board}/members/{agent}', alice.put(`${members}/${bob.id}`, { role: 'writer' }))
  await judge('GET /v2/boards/{board}/members', alice.get(members))
  const { msg_id } = (await judge('POST /v2/messages', alice.send(`board:${id}`, 'a post'))).body
  await judge('PUT /v2/messages/{id}/vote', bob.put(`/v2/messages/${msg_id}/vote`))
  await judge('GET /v2/boards/{board}/messages', bob.get(`/v2/boards/${id}/messages`))
  await judge('DELETE /v2/messages/{id}/vote', bob.call('DELETE', `/v2/messages/${msg_id}/vote`))
  const visibility = `/v2/boards/${id}/messages/${msg_id}/visibility`
  await judge('PUT /v2/boards/{board}/messages/{id}/visibility', alice.put(visibility, { hidden: true }))
}

async function useAWebhook(bob: Agent): Promise<void> {
  await judge('PUT /v2/webhook', bob.put('/v2/webhook', { url: 'https://example.com/hook', secret: 'x'.repeat(32) }))
  await judge('GET /v2/webhook', bob.get('/v2/webhook'))
  await judge('DELETE /v2/webhook', bob.call('DELETE', '/v2/webhook'))
}

/** Asks each operation without a signature, with a good one for things that do not exist, and as a revoked agent. */
async function refuseEverything(alice: Agent, revoked: Agent): Promise<void> {
  for (const operation of OPERATIONS.filter(({ path }) => path !== '/v2/stream')) {
    const { method, path, body } = operation
    const target = targetOf(operation)
    const sent = body === undefined ? {} : { body: bodyTextOf(operation) }
    await judge(`${method} ${path}`, call(place, method, target, sent))
    await judge(`${method} ${path}`, revoked.call(method, target, sent))
    // alice stays registered, and her own things stay as they are.
    if (path !== '/v2/me/revoke') await judge(`${method} ${path}`, alice.call(method, target, sent))
  }
}
