/** A real gateway between real HTTP and real NATS, with stand-ins for the services. */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { connect, type Socket } from 'node:net'
import { createBoard, getBoard, listBoards, listMembers, noteBlock, setMember } from '@svc/contracts/boards.ts'
import { getBudget, release, reserve } from '@svc/contracts/budget.ts'
import type { Call, CallContext, RequestOf, TextCall, TextReply } from '@svc/contracts/define.ts'
import { healthOf } from '@svc/contracts/health.ts'
import {
  admitRequest,
  findAgent,
  findAgentByName,
  getIdentity,
  issueChallenge,
  listAgents,
  registerAgent,
  revokeAgent,
  updateSettings,
} from '@svc/contracts/identity.ts'
import {
  ackMessage,
  exportMessages,
  getMessage,
  getReceipt,
  listContacts,
  listEvents,
  listInbox,
  listPosts,
  sendMessage,
  setContact,
  setVisibility,
  setVote,
} from '@svc/contracts/messaging.ts'
import type { Agent, BoardDetails } from '@svc/contracts/resources.ts'
import type { UnsignedEnvelope } from '@svc/envelope/envelope.ts'
import { signEnvelope } from '@svc/envelope/sign-envelope.ts'
import { connectNats, drainNats } from '@svc/nats/connect.ts'
import { type Endpoint, handle, handleText, serve } from '@svc/nats/serve.ts'
import { agentIdOf } from '@svc/svc1/agent-id.ts'
import { createKeyPair, type KeyPair } from '@svc/svc1/key-pair.ts'
import { decodePublicKeyText, formatPublicKey } from '@svc/svc1/public-key.ts'
import { signRequest } from '@svc/svc1/sign.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { startTestNats } from '@svc/test/support/engines/engines.ts'
import { pino } from 'pino'
import { type GatewayConfig, readConfig } from '../../src/config.ts'
import { startGateway } from '../../src/service.ts'

export const AUTHORITY = 'agents.test:8443'

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** Undefined if the text is not JSON. */
  readonly body: unknown
}

export interface Outgoing {
  method?: string
  /** The target, as in the request line. */
  target: string
  headers?: Record<string, string | string[]>
  body?: string | Buffer
}

/** Values that are signed instead of those of the request. The timestamp and the nonce are also sent. */
export interface Signing {
  authority?: string
  method?: string
  target?: string
  body?: string | Buffer
  timestamp?: number
  nonce?: string
}

/** Replaces the usual answer of a stand-in: throws for an error, or returns something that breaks the contract. */
type Override<Q = unknown> = (request: Q, context: CallContext) => unknown

export type Harness = Awaited<ReturnType<typeof startHarness>>

export async function startHarness(env: NodeJS.ProcessEnv = {}, other: Partial<GatewayConfig> = {}) {
  const stack = new AsyncDisposableStack()
  const nats = stack.use(await startTestNats())
  const calls: { subject: string; request: unknown; context: CallContext }[] = []
  const overrides = new Map<string, Override>()
  const ready = { identity: true, messaging: true, boards: true, budget: true, stream: true, webhook: true }
  const agents = new Map<string, Agent>()
  const revoked = new Set<string>()
  const suspended = new Set<string>()
  const nonces = new Set<string>()
  const log: Record<string, unknown>[] = []

  const services = {
    identity: await startStandIn('identity', identityEndpoints()),
    messaging: await startStandIn('messaging', messagingEndpoints()),
    boards: await startStandIn('boards', boardEndpoints()),
    budget: await startStandIn('budget', budgetEndpoints()),
    stream: await startStandIn('stream', []),
    webhook: await startStandIn('webhook', []),
  }
  const config = readConfig({
    SVC_NATS_URL: nats.urlFor('gateway'),
    SVC_HTTP_PORT: '0',
    SVC_AUTHORITY: AUTHORITY,
    SVC_RATE_PER_SECOND: '1000000',
    SVC_RATE_BURST: '1000000',
    SVC_REGISTRATION_RATE_PER_SECOND: '1000000',
    SVC_REGISTRATION_RATE_BURST: '1000000',
    ...env,
  })
  const logger = pino({ level: 'info' }, { write: (line: string) => void log.push(JSON.parse(line)) })
  const gateway = stack.use(await startGateway({ ...config, ...other }, logger))

  return {
    port: gateway.port,
    gateway,
    nats,
    services,
    /** Every call that reached a stand-in, in order. */
    calls,
    callsTo: (call: { subject: string }) => calls.filter(({ subject }) => subject === call.subject),
    /** Replaces the answer of a stand-in. */
    answer: <C extends { subject: string }>(call: C, override: Override<RequestOf<C>>) =>
      void overrides.set(call.subject, override as Override),
    ready,
    revoked,
    suspended,
    /** Lines that the gateway logged. */
    log,
    register,
    /** Revokes an identity, for the directory and for the check of its next request. */
    revoke(key: { agentId: string }) {
      const agent = agents.get(key.agentId)
      if (agent !== undefined) agents.set(key.agentId, { ...agent, revoked: true })
      revoked.add(key.agentId)
    },
    send: (outgoing: Outgoing) => sendRequest(gateway.port, outgoing),
    /** Sends a signed request. Values in `signing` are signed instead of the sent ones. */
    sendSigned: (key: KeyPair, outgoing: Outgoing, signing: Signing = {}) =>
      sendRequest(gateway.port, {
        ...outgoing,
        headers: { ...signatureOf(key, outgoing, signing), ...outgoing.headers },
      }),
    sendRaw: (bytes: string | Buffer) => sendRaw(gateway.port, bytes),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }

  /** A new identity that is in the directory. */
  function register(name: string, key = createKeyPair()): KeyPair & { name: string } {
    agents.set(key.agentId, {
      agent_id: key.agentId,
      name,
      pubkey: formatPublicKey(key.publicKey),
      created_at: 1767268800,
      revoked: false,
    })
    return { ...key, name }
  }

  async function startStandIn(name: keyof typeof ready, endpoints: Endpoint[]) {
    const logger = createLogger('test', 'silent')
    const connection = stack.adopt(await connectNats({ url: nats.urlFor(name), name, logger }), (n) =>
      drainNats(n, 500),
    )
    const health = json(healthOf(name), () => ({ ready: ready[name] }))
    return serve({ nats: connection, name, version: '0.0.0', logger, endpoints: [...endpoints, health] })
  }

  function json<Q, R>(call: Call<Q, R>, answer: (request: Q) => R | Promise<R>): Endpoint {
    return handle(call, async (request, context) => {
      calls.push({ subject: call.subject, request, context })
      const override = overrides.get(call.subject)
      return override === undefined ? answer(request) : ((await override(request, context)) as R)
    })
  }

  function text<Q, M>(call: TextCall<Q, M>, answer: (request: Q) => TextReply<M>): Endpoint {
    return handleText(call, async (request, context) => {
      calls.push({ subject: call.subject, request, context })
      const override = overrides.get(call.subject)
      return override === undefined ? answer(request) : ((await override(request, context)) as TextReply<M>)
    })
  }

  function identityEndpoints(): Endpoint[] {
    const identityOf = (agentId: string) => {
      const agent = agents.get(agentId)
      if (agent === undefined) throw new Error('no such agent')
      return {
        agent,
        address: `${agent.name}@${AUTHORITY}`,
        inbox_policy: 'requests' as const,
        discoverable: false,
      }
    }
    return [
      json(findAgent, ({ agent_id }) => ({ agent: agents.get(agent_id) ?? null })),
      json(findAgentByName, ({ name }) => ({
        agent: [...agents.values()].find((agent) => agent.name === name) ?? null,
      })),
      json(admitRequest, ({ agent_id, nonce }) => {
        const replayed = nonces.has(`${agent_id} ${nonce}`)
        nonces.add(`${agent_id} ${nonce}`)
        const suspension = suspended.has(agent_id) ? { suspended: { until: null } } : {}
        return { replayed, revoked: revoked.has(agent_id), ...suspension }
      }),
      json(issueChallenge, () => ({ challenge: 'token', difficulty: 18, expires_at: 1, algorithm: 'sha256' as const })),
      json(registerAgent, ({ name, pubkey }) => ({
        agent_id: agentIdOf(decodePublicKeyText(pubkey) ?? new Uint8Array()),
        address: `${name}@${AUTHORITY}`,
      })),
      json(listAgents, () => ({ agents: [], next_cursor: '' })),
      json(getIdentity, ({ agent_id }) => identityOf(agent_id)),
      json(updateSettings, ({ agent_id, settings }) => ({ ...identityOf(agent_id), ...settings })),
      json(revokeAgent, ({ agent_id }) => {
        revoked.add(agent_id)
        return { status: 'revoked' as const }
      }),
    ]
  }

  function messagingEndpoints(): Endpoint[] {
    return [
      json(sendMessage, ({ facts }) => ({
        msg_id: facts.id,
        status: 'accepted' as const,
        lane: 'requests' as const,
        duplicate: false,
        sender_authenticated: true,
      })),
      text(getMessage, () => ({ meta: {}, text: '{"a message":1.0}' })),
      json(ackMessage, () => ({ status: 'acked' as const })),
      json(getReceipt, ({ id }) => ({ msg_id: id, status: 'accepted' as const, accepted_at: 1767268800 })),
      text(listInbox, () => ({ meta: {}, text: '{"messages":[],"next_cursor":""}' })),
      text(exportMessages, () => ({ meta: {}, text: '{"messages":[],"next_cursor":""}' })),
      text(listEvents, () => ({
        meta: { earliest: 7, latest: 9 },
        text: '{"events":[],"next_cursor":0,"retention_days":30}',
      })),
      text(listPosts, () => ({ meta: {}, text: '{"messages":[],"next_cursor":""}' })),
      json(setVote, ({ voted }) => ({ status: voted ? ('voted' as const) : ('removed' as const), quota_bonus: 0 })),
      json(setVisibility, ({ hidden }) => ({ hidden })),
      json(setContact, ({ state }) => ({ state, version: 7 })),
      json(listContacts, () => ({ contacts: [], next_cursor: '', version: 6 })),
    ]
  }

  function boardEndpoints(): Endpoint[] {
    const board: BoardDetails = {
      id: 'b'.repeat(31),
      owner: '1'.repeat(43),
      title: 'a board',
      description: '',
      visibility: 'public',
      posting: 'members',
      created_at: 1767268800,
    }
    return [
      json(createBoard, ({ owner, board: asked }) => ({ ...board, ...asked, owner })),
      json(listBoards, () => ({ boards: [board], next_cursor: '' })),
      json(getBoard, ({ board_id }) => ({ ...board, id: board_id })),
      json(listMembers, ({ caller }) => ({ members: [{ agent_id: caller, role: 'owner' as const }] })),
      json(setMember, ({ role }) => ({ role })),
      json(noteBlock, () => ({})),
    ]
  }

  function budgetEndpoints(): Endpoint[] {
    return [
      json(reserve, () => ({ deadline_ms: 0, settled: false, shared: false })),
      json(release, () => ({})),
      json(getBudget, () => ({
        daily_free_units: 100,
        daily_hard_limit: 1000,
        used_units: 0,
        credit_balance: 0,
        used_introductions: 0,
        daily_introduction_limit: 10,
        resets_at: 1767312000,
        vote_bonus: 0,
      })),
    ]
  }
}

/** The three headers of a signed request. */
export function signatureOf(key: KeyPair, { method = 'GET', target, body }: Outgoing, signing: Signing = {}) {
  const signed = signing.body ?? body
  return signRequest(key, {
    authority: signing.authority ?? AUTHORITY,
    method: signing.method ?? method,
    target: signing.target ?? target,
    body: signed === undefined ? undefined : Buffer.from(signed),
    timestamp: signing.timestamp,
    nonce: signing.nonce,
  })
}

let made = 0

/** The JSON of a signed envelope. */
export function envelopeOf(
  from: KeyPair,
  changes: Partial<Record<keyof UnsignedEnvelope | 'sig', unknown>> = {},
): string {
  made += 1
  const unsigned: UnsignedEnvelope = {
    id: `message-${String(made).padStart(6, '0')}`,
    from: from.agentId,
    to: `bob@${AUTHORITY}`,
    type: 'request',
    ts: new Date().toISOString(),
    body: { text: 'hello' },
    ...(changes as Partial<UnsignedEnvelope>),
  }
  return JSON.stringify({ ...signEnvelope(unsigned, from.secretKey), ...changes })
}

export const JSON_BODY = { 'content-type': 'application/json' }

export function sendRequest(port: number, { method = 'GET', target, headers = {}, body }: Outgoing): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: '127.0.0.1', port, method, path: target, headers, agent: false },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, body: parse(text) })
        })
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

export interface RawConnection {
  readonly socket: Socket
  write(bytes: string | Buffer): void
  /** All bytes received until now. */
  readonly received: string
  /** All received bytes, after the other end has closed. */
  readonly ended: Promise<string>
}

/** A connection on which anything can be sent. @param localAddress one of 127.0.0.0/8, to be another client. */
export function openRaw(port: number, localAddress = '127.0.0.1'): RawConnection {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
  })
  socket.on('error', () => {}) // the other end may reset the connection after its answer
  const ended = new Promise<string>((resolve) => socket.once('close', () => resolve(received)))
  return {
    socket,
    write: (bytes) => void socket.write(bytes, typeof bytes === 'string' ? 'latin1' : undefined),
    get received() {
      return received
    },
    ended,
  }
}

/** Sends bytes, and returns everything received until the other end closes. */
function sendRaw(port: number, bytes: string | Buffer): Promise<string> {
  const connection = openRaw(port)
  connection.write(bytes)
  return connection.ended
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
