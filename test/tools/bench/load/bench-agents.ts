import { createHash, createPrivateKey, type KeyObject, randomBytes, sign } from 'node:crypto'
import { createKeyPair, type KeyPair } from '@svc/svc1/key-pair.ts'
import { checkWork } from '@svc/svc1/pow.ts'
import { signedString } from '@svc/svc1/signed-string.ts'
import { requestBytes } from './http-load.ts'

/** An agent whose requests are signed with node:crypto. Preparing tens of thousands of requests then takes only seconds. */
export interface BenchAgent extends KeyPair {
  name: string
  key: KeyObject
}

/** The data that another process needs to sign as the agent. */
export interface BenchAgentData {
  name: string
  secretKeyHex: string
}

const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex')

export function createBenchAgent(name: string, secretKeyHex?: string): BenchAgent {
  const pair = createKeyPair(secretKeyHex === undefined ? undefined : Buffer.from(secretKeyHex, 'hex'))
  const der = Buffer.concat([PKCS8_ED25519, pair.secretKey])
  return { ...pair, name, key: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }) }
}

export function dataOf(agent: BenchAgent): BenchAgentData {
  return { name: agent.name, secretKeyHex: Buffer.from(agent.secretKey).toString('hex') }
}

interface Unsigned {
  readonly authority: string
  readonly method: string
  readonly target: string
  readonly body?: string
  /** Unix seconds. Default: now. */
  readonly timestamp?: number
}

/** A signed request as bytes for a socket, valid for 60 seconds from `timestamp`. */
export function signedRequest(
  agent: BenchAgent,
  { authority, method, target, body = '', timestamp = Math.floor(Date.now() / 1000) }: Unsigned,
): Buffer {
  const nonce = randomBytes(16).toString('hex')
  const lines = signedString({
    authority,
    method,
    target,
    timestamp: String(timestamp),
    nonce,
    bodySha256Hex: createHash('sha256').update(body).digest('hex'),
  })
  const signature = sign(null, Buffer.from(lines), agent.key).toString('base64')
  const headers = {
    Authorization: `SVC ${agent.agentId}:${signature}`,
    'X-SVC-Timestamp': String(timestamp),
    'X-SVC-Nonce': nonce,
  }
  return requestBytes({ method, target, authority, headers, body })
}

/**
 * An envelope with a body of about 100 bytes.
 * @param ttlSeconds 0 means no expiry. Its `sig` has only the right form, because the service verifies no envelope signature
 * (spec 6.3).
 */
export function envelopeText(from: BenchAgent, to: string, ttlSeconds = 0): string {
  return JSON.stringify({
    id: randomBytes(16).toString('base64url'),
    from: from.agentId,
    to,
    type: 'request',
    ts: new Date().toISOString(),
    ...(ttlSeconds === 0 ? {} : { ttl: ttlSeconds }),
    body: { task: 'translate', text: 'The quick brown fox jumps over the lazy dog, again and again and again.' },
    sig: Buffer.alloc(64, 7).toString('base64'),
  })
}

/** Registers the agent over HTTP, and opens its inbox to strangers. */
async function registerAgent(agent: BenchAgent, baseUrl: string, authority: string): Promise<void> {
  const pubkey = `ed25519:${Buffer.from(agent.publicKey).toString('hex')}`
  const challenged = await post(baseUrl, '/v2/challenges', JSON.stringify({ pubkey }))
  const { challenge, difficulty } = (await challenged.json()) as { challenge: string; difficulty: number }
  let nonce = 0
  while (!checkWork(challenge, String(nonce), difficulty)) nonce += 1
  const body = JSON.stringify({ name: agent.name, pubkey, challenge, nonce: String(nonce) })
  await post(
    baseUrl,
    '/v2/agents/register',
    body,
    headersOf(agent, { authority, method: 'POST', target: '/v2/agents/register', body }),
  )
  const settings = JSON.stringify({ inbox_policy: 'open' })
  const headers = headersOf(agent, { authority, method: 'PATCH', target: '/v2/me', body: settings })
  await expectOk(await fetch(`${baseUrl}/v2/me`, { method: 'PATCH', body: settings, headers }))
}

/** Agents with these names and open inboxes, registered one after the other. */
export async function registerAgents(names: readonly string[], authority: string): Promise<BenchAgent[]> {
  const agents = names.map((name) => createBenchAgent(name))
  for (const agent of agents) await registerAgent(agent, `http://${authority}`, authority)
  return agents
}

/** Registers so many agents: `bench-0`, `bench-1`, … */
export function registerMany(count: number, authority: string): Promise<BenchAgent[]> {
  return registerAgents(
    Array.from({ length: count }, (_, index) => `bench-${index}`),
    authority,
  )
}

/** The body of a request that creates a public board. */
export function boardText(): string {
  return JSON.stringify({ title: 'Bench', visibility: 'public', posting: 'members' })
}

/** Creates a public board of the agent on which everybody may post. @returns its id. */
export async function createBoard(agent: BenchAgent, baseUrl: string, authority: string): Promise<string> {
  const body = boardText()
  const headers = headersOf(agent, { authority, method: 'POST', target: '/v2/boards', body })
  const created = await post(baseUrl, '/v2/boards', body, headers)
  return ((await created.json()) as { id: string }).id
}

/** Makes the agent a reader of a board, so that it receives the board's posts as events. */
export async function subscribe(agent: BenchAgent, board: string, baseUrl: string, authority: string): Promise<void> {
  const body = JSON.stringify({ role: 'reader' })
  const target = `/v2/boards/${board}/members/${agent.agentId}`
  const headers = headersOf(agent, { authority, method: 'PUT', target, body })
  await expectOk(await fetch(baseUrl + target, { method: 'PUT', body, headers }))
}

/** Configures a webhook for the agent. */
export async function setWebhook(agent: BenchAgent, url: string, baseUrl: string, authority: string): Promise<void> {
  const body = JSON.stringify({ url, secret: 's'.repeat(32) })
  const headers = headersOf(agent, { authority, method: 'PUT', target: '/v2/webhook', body })
  await expectOk(await fetch(`${baseUrl}/v2/webhook`, { method: 'PUT', body, headers }))
}

async function post(
  baseUrl: string,
  path: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  const all = { 'Content-Type': 'application/json', ...headers }
  return expectOk(await fetch(baseUrl + path, { method: 'POST', body, headers: all }))
}

async function expectOk(response: Response): Promise<Response> {
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${await response.text()}`)
  return response
}

function headersOf(agent: BenchAgent, request: Unsigned) {
  const lines = signedRequest(agent, request).toString().split('\r\n')
  const names = ['Authorization', 'X-SVC-Timestamp', 'X-SVC-Nonce']
  const pairs = names.map((name): [string, string] => [
    name,
    lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? '',
  ])
  return { 'Content-Type': 'application/json', ...Object.fromEntries(pairs) }
}
