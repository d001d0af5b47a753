/**
 * A small HTTP server that answers as the service does, for tests of the SDK and the CLI without the system: it holds
 * requests to SVC1 (order of decisions 8) and envelopes to their shape, and keeps what it is told in memory. Its rules
 * of admission and budget are the least that a client can tell apart. Faults are put in the way on demand.
 */
import { hash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ERRORS, type ErrorCode, ServiceError } from '@svc/contracts/errors.ts'
import type { Envelope, Message } from '@svc/contracts/resources.ts'
import { readEnvelope } from '@svc/envelope/envelope.ts'
import { jcsDigest } from '@svc/envelope/jcs.ts'
import { agentIdOf } from '@svc/svc1/agent-id.ts'
import { parseAuthorization, parseNonce, parseTimestamp } from '@svc/svc1/headers.ts'
import { checkWork } from '@svc/svc1/pow.ts'
import { formatPublicKey, parsePublicKey } from '@svc/svc1/public-key.ts'
import { signedString } from '@svc/svc1/signed-string.ts'
import { verifySignature } from '@svc/svc1/verify.ts'

/** What happens to one request instead of, or after, its being handled. */
export type Fault =
  /** Answered with this error; nothing is done. */
  | { kind: 'refuse'; code: ErrorCode; retryAfterSeconds?: number }
  /** Answered with this, whatever it is; nothing is done. */
  | { kind: 'answer'; status: number; body: string; headers?: Record<string, string> }
  /** The connection is cut; nothing is done. */
  | { kind: 'cut' }
  /** Handled, and then the connection is cut instead of the answer. */
  | { kind: 'lose' }
  /** Handled twice, as by a proxy that sends it again; the second answer is given. */
  | { kind: 'double' }
  /** Never answered. */
  | { kind: 'hang' }

export interface SeenRequest {
  readonly method: string
  readonly target: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

interface Account {
  agent_id: string
  name: string
  pubkey: string
  created_at: number
  revoked: boolean
  inbox_policy: string
  discoverable: boolean
  contacts: Map<string, string>
  used: number
  cursor: number
  events: { cursor: number; kind: string; message: Message }[]
}

interface Stored {
  message: Message
  digest: string
  to: Account
}

export interface FakeOptions {
  /** Leading zero bits of challenges; default 8, so that tests do not wait. */
  difficulty?: number
  /** The service's clock minus this machine's. */
  clockOffsetMs?: number
  /** Default: the address it listens on. */
  authority?: string
}

export interface FakeService extends AsyncDisposable {
  readonly url: string
  readonly authority: string
  /** Every request, in order of arrival, those that a fault met as well. */
  readonly requests: SeenRequest[]
  clockOffsetMs: number
  /** Puts faults in the way of the next requests whose `<METHOD> <path>` begins so, in this order. */
  meet(prefix: string, ...faults: Fault[]): void
  /** Changes what was stored, as a hostile service could. */
  tamper(id: string, change: (envelope: Record<string, unknown>) => void): void
  /** Drops the events up to this cursor, as retention does. */
  forgetEvents(name: string, upTo: number): void
}

const CHALLENGE = /^challenge-([0-9a-f]{64})-(\d+)$/

export async function startFakeService(options: FakeOptions = {}): Promise<FakeService> {
  const { difficulty = 8 } = options
  const requests: SeenRequest[] = []
  const faults: { prefix: string; fault: Fault }[] = []
  const accounts = new Map<string, Account>()
  const nonces = new Set<string>()
  const consumed = new Set<string>()
  const messages = new Map<string, Stored>()
  let challenges = 0
  let clockOffsetMs = options.clockOffsetMs ?? 0

  const server = createServer((request, response) => void take(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const authority = options.authority ?? host

  return {
    url: `http://${host}`,
    authority,
    requests,
    get clockOffsetMs() {
      return clockOffsetMs
    },
    set clockOffsetMs(ms) {
      clockOffsetMs = ms
    },
    meet(prefix, ...list) {
      faults.push(...list.map((fault) => ({ prefix, fault })))
    },
    tamper(id, change) {
      const stored = messages.get(id)
      if (stored === undefined) throw new Error(`no message ${id}`)
      change(stored.message.envelope as Record<string, unknown>)
    },
    forgetEvents(name, upTo) {
      const account = byName(name)
      if (account !== undefined) account.events = account.events.filter(({ cursor }) => cursor > upTo)
    },
    [Symbol.asyncDispose]: () => close(server),
  }

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray())
    const seen = {
      method: request.method ?? '',
      target: request.url ?? '',
      headers: request.headers,
      body: body.toString(),
    }
    requests.push(seen)
    const index = faults.findIndex(({ prefix }) => `${seen.method} ${seen.target}`.startsWith(prefix))
    const fault = index < 0 ? undefined : faults.splice(index, 1)[0]?.fault
    if (fault?.kind === 'hang') return
    if (fault?.kind === 'cut') {
      request.socket.destroy()
      return
    }
    response.setHeader('date', new Date(nowMs()).toUTCString())
    response.setHeader('x-request-id', String(requests.length).padStart(32, '0'))
    if (fault?.kind === 'answer') {
      response.writeHead(fault.status, fault.headers).end(fault.body)
      return
    }
    try {
      if (fault?.kind === 'refuse') throw new ServiceError(fault.code, fault)
      if (fault?.kind === 'double') attempt(() => handle(seen, body))
      const { status = 200, value, headers } = handle(seen, body)
      if (fault?.kind === 'lose') request.socket.destroy()
      else
        response
          .writeHead(status, { 'content-type': 'application/json', ...headers })
          .end(JSON.stringify({ ...value, added_later: true })) // contracts only grow
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      if (error.retryAfterSeconds !== undefined) response.setHeader('retry-after', error.retryAfterSeconds)
      const { code, message } = error
      response
        .writeHead(ERRORS[code].status, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: { code, message } }))
    }
  }

  function handle(seen: SeenRequest, bytes: Buffer): Reply {
    const url = new URL(seen.target, 'http://fake')
    const [, version, resource = '', id = '', part = ''] = url.pathname.split('/').map(decodeURIComponent)
    const registering = seen.method === 'POST' && url.pathname === '/v2/agents/register'
    const signer = authenticate(seen, bytes, registering)
    if (bytes.length > 0 && seen.headers['content-type'] !== 'application/json')
      throw new ServiceError('unsupported_media_type')
    const body = bytes.length > 0 ? (JSON.parse(bytes.toString()) as Record<string, unknown>) : {}
    if (url.pathname === '/.well-known/agent.json') return { value: manifest() }
    if (version !== 'v2') throw new ServiceError('not_found')
    switch (`${seen.method} ${resource}${id === '' ? '' : '/*'}${part === '' ? '' : `/${part}`}`) {
      case 'GET health':
        return { value: { status: 'ok', service: 'signed-agent-messaging', version: '2.0.0' } }
      case 'POST challenges':
        return { status: 201, value: issueChallenge(String(body.pubkey)) }
      case 'POST agents/*':
        return { status: 201, value: registerAgent(body as Record<'name' | 'pubkey' | 'challenge' | 'nonce', string>) }
      case 'GET agents': {
        const found = [...accounts.values()].filter((account) => account.discoverable && !account.revoked)
        return { value: page('agents', found.map(agentOf).sort(by('name')), 'name', url) }
      }
      case 'GET agents/*':
        return { value: agentOf(byName(id) ?? refuse('not_found')) }
      case 'GET messages/*':
        return { value: readable(id, signer).message }
      case 'GET messages/*/receipts': {
        const { message } = readable(id, signer)
        return {
          value: { msg_id: id, status: message.acked ? 'processed' : 'accepted', accepted_at: message.created_at },
        }
      }
      case 'POST messages/*/ack': {
        const stored = readable(id, signer)
        if (stored.to !== signer) throw new ServiceError('forbidden')
        stored.message.acked = true
        return { value: { status: 'acked' } }
      }
    }
    if (signer === undefined) throw new ServiceError('unauthenticated')
    switch (`${seen.method} ${resource}${id === '' ? '' : '/*'}`) {
      case 'GET me':
        return { value: identityOf(signer) }
      case 'PATCH me':
        signer.used += 1
        Object.assign(signer, body)
        return { value: identityOf(signer) }
      case 'POST me/*':
        if (body.confirm_agent_id !== signer.agent_id) throw new ServiceError('confirmation_mismatch')
        signer.revoked = true
        return { value: { status: 'revoked' } }
      case 'GET budget':
        return { value: budgetOf(signer) }
      case 'GET contacts': {
        const entries = [...signer.contacts].map(([agent_id, state]) => ({ agent_id, state }))
        return { value: page('contacts', entries.sort(by('agent_id')), 'agent_id', url) }
      }
      case 'PUT contacts/*':
        return { value: setContact(signer, id, String(body.state)) }
      case 'POST messages':
        return accept(signer, body)
      case 'GET inbox': {
        const lane = url.searchParams.get('lane') ?? 'inbox'
        const unacked = url.searchParams.get('unacked') === 'true'
        const found = [...messages.values()].filter(
          ({ to, message }) => to === signer && message.lane === lane && !(unacked && message.acked),
        )
        return { value: messagePage(found, url) }
      }
      case 'GET export': {
        const found = [...messages.values()].filter(
          ({ to, message }) => to === signer || message.envelope.from === signer.agent_id,
        )
        return { value: messagePage(found, url) }
      }
      case 'GET events':
        return listEvents(signer, url)
    }
    throw new ServiceError('not_found')
  }

  /** The checks of decisions 8 in their order. */
  function authenticate(seen: SeenRequest, body: Buffer, registering: boolean): Account | undefined {
    const header = seen.headers.authorization
    if (header === undefined) return registering ? refuse('unauthenticated') : undefined
    const nonceText = String(seen.headers['x-svc-nonce'])
    const timestampText = String(seen.headers['x-svc-timestamp'])
    const authorization = parseAuthorization(header) ?? refuse('unauthenticated')
    const timestamp = parseTimestamp(timestampText) ?? refuse('unauthenticated')
    const nonce = parseNonce(nonceText) ?? refuse('unauthenticated')
    if (Math.abs(timestamp - nowMs() / 1000) > 60) throw new ServiceError('timestamp_out_of_range')
    const signer = accounts.get(authorization.agentId)
    const pubkey = registering ? String((JSON.parse(body.toString()) as { pubkey: unknown }).pubkey) : signer?.pubkey
    if (pubkey === undefined) throw new ServiceError('signer_unknown')
    const publicKey = parsePublicKey(pubkey) ?? refuse('invalid_pubkey')
    const lines = signedString({
      authority,
      method: seen.method,
      target: seen.target,
      timestamp: timestampText,
      nonce: nonceText,
      bodySha256Hex: hash('sha256', body),
    })
    if (agentIdOf(publicKey) !== authorization.agentId) throw new ServiceError('signature_invalid')
    if (!verifySignature(authorization.signature, Buffer.from(lines), publicKey)) {
      throw new ServiceError('signature_invalid')
    }
    if (signer?.revoked === true && !registering) throw new ServiceError('signer_revoked')
    const nonceKey = `${authorization.agentId} ${hexOf(nonce)}`
    if (nonces.has(nonceKey)) throw new ServiceError('nonce_replayed')
    nonces.add(nonceKey)
    return signer
  }

  function issueChallenge(pubkey: string): object {
    const publicKey = parsePublicKey(pubkey) ?? refuse('invalid_pubkey')
    challenges += 1
    const challenge = `challenge-${hexOf(publicKey)}-${challenges}`
    return { challenge, difficulty, expires_at: nowSeconds() + 300, algorithm: 'sha256' }
  }

  /** decisions 10. */
  function registerAgent(registration: Record<'name' | 'pubkey' | 'challenge' | 'nonce', string>): object {
    const { name, pubkey: text, challenge, nonce } = registration
    if (!/^[a-z0-9][a-z0-9_-]{2,31}$/.test(name)) throw new ServiceError('invalid_name')
    const publicKey = parsePublicKey(text) ?? refuse('invalid_pubkey')
    const pubkey = formatPublicKey(publicKey)
    const result = { agent_id: agentIdOf(publicKey), address: `${name}@${authority}` }
    const holder = byName(name)
    if (holder?.pubkey === pubkey) return result
    if (CHALLENGE.exec(challenge)?.[1] !== hexOf(publicKey)) throw new ServiceError('challenge_invalid')
    if (!checkWork(challenge, nonce, difficulty)) throw new ServiceError('pow_invalid')
    if (consumed.has(challenge)) throw new ServiceError('challenge_consumed')
    if (holder !== undefined) throw new ServiceError('name_taken')
    if (accounts.has(result.agent_id)) throw new ServiceError('key_registered')
    consumed.add(challenge)
    accounts.set(result.agent_id, {
      agent_id: result.agent_id,
      name,
      pubkey,
      created_at: nowSeconds(),
      revoked: false,
      inbox_policy: 'requests',
      discoverable: false,
      contacts: new Map(),
      used: 0,
      cursor: 0,
      events: [],
    })
    return result
  }

  function setContact(signer: Account, other: string, state: string): object {
    if (other === signer.agent_id) throw new ServiceError('invalid_request')
    if (!accounts.has(other)) throw new ServiceError('not_found')
    if (state === 'none') signer.contacts.delete(other)
    else signer.contacts.set(other, state)
    if (state !== 'accepted') return { state }
    signer.used += 1
    for (const { to, message } of messages.values()) {
      if (to !== signer || message.envelope.from !== other || message.lane !== 'requests') continue
      message.lane = 'inbox'
      append(signer, message)
    }
    return { state }
  }

  function accept(signer: Account, body: Record<string, unknown>): Reply {
    const facts = readEnvelope(body)
    const envelope = body as Envelope
    const earlier = messages.get(facts.id)
    const result = { msg_id: facts.id, status: 'accepted', sender_authenticated: true }
    if (envelope.from !== signer.agent_id) throw new ServiceError('sender_mismatch')
    if (earlier !== undefined) {
      if (earlier.digest !== jcsDigest(envelope)) throw new ServiceError('id_conflict')
      return { value: { ...result, lane: earlier.message.lane, duplicate: true } }
    }
    const ageMs = nowMs() - facts.tsMs
    if (ageMs > 300_000 || ageMs < -60_000) throw new ServiceError('envelope_timestamp_out_of_range')
    if (facts.to.kind !== 'agent') throw new ServiceError('not_found')
    if (facts.to.authority !== authority) throw new ServiceError('recipient_not_local')
    const to = byName(facts.to.name) ?? refuse('recipient_unavailable')
    const known = to === signer || to.contacts.get(signer.agent_id) === 'accepted'
    if (to.contacts.get(signer.agent_id) === 'blocked') throw new ServiceError('admission_denied')
    const lane = known || to.inbox_policy === 'open' ? 'inbox' : 'requests'
    if (lane === 'requests' && (to.inbox_policy !== 'requests' || hasPending(signer, to))) {
      throw new ServiceError(to.inbox_policy === 'requests' ? 'request_pending' : 'admission_denied')
    }
    signer.used += Math.max(1, Math.ceil(facts.payloadBytes / 1024))
    const message: Message = {
      envelope,
      lane,
      created_at: nowSeconds(),
      expires_at: nowSeconds() + 30 * 86_400,
      acked: false,
      upvotes: 0,
    }
    messages.set(facts.id, { message, digest: jcsDigest(envelope), to })
    append(to, message)
    return { status: 202, value: { ...result, lane, duplicate: false } }
  }

  function hasPending(signer: Account, to: Account): boolean {
    return [...messages.values()].some(
      (stored) =>
        stored.to === to && stored.message.envelope.from === signer.agent_id && stored.message.lane === 'requests',
    )
  }

  function append(to: Account, message: Message): void {
    to.cursor += 1
    to.events.push({ cursor: to.cursor, kind: message.lane, message })
  }

  function listEvents(signer: Account, url: URL): Reply {
    const after = Number(url.searchParams.get('after') ?? 0)
    const events = signer.events.filter(({ cursor }) => cursor > after).slice(0, limitOf(url))
    const headers = { 'x-svc-earliest-cursor': String(signer.events[0]?.cursor ?? signer.cursor + 1) }
    return { value: { events, next_cursor: events.at(-1)?.cursor ?? after, retention_days: 30 }, headers }
  }

  function messagePage(found: Stored[], url: URL): object {
    const thread = url.searchParams.get('thread_id')
    const places = found
      .filter(({ message: { envelope } }) => thread === null || [envelope.id, envelope.thread_id].includes(thread))
      .map(({ message }, index) => ({ message, place: `place ${String(index + 1).padStart(6, '0')}/+=` }))
    const after = url.searchParams.get('after')
    if (after !== null && !places.some(({ place }) => place === after)) throw new ServiceError('invalid_cursor')
    const rest = places.filter(({ place }) => after === null || place > after)
    const shown = rest.slice(0, limitOf(url))
    const next = rest.length > shown.length ? (shown.at(-1)?.place ?? '') : ''
    return { messages: shown.map(({ message }) => message), next_cursor: next }
  }

  function page<T>(member: string, all: T[], key: keyof T, url: URL): object {
    const after = url.searchParams.get('after') ?? ''
    const rest = all.filter((item) => String(item[key]) > after)
    const shown = rest.slice(0, limitOf(url))
    return { [member]: shown, next_cursor: rest.length > shown.length ? String(shown.at(-1)?.[key]) : '' }
  }

  function readable(id: string, signer: Account | undefined): Stored {
    const stored = messages.get(id)
    if (stored === undefined || signer === undefined) throw new ServiceError('not_found')
    if (stored.to !== signer && stored.message.envelope.from !== signer.agent_id) throw new ServiceError('not_found')
    return stored
  }

  function identityOf(account: Account): object {
    const { name, inbox_policy, discoverable } = account
    return { agent: agentOf(account), address: `${name}@${authority}`, inbox_policy, discoverable }
  }

  function budgetOf({ used }: Account): object {
    return {
      daily_free_units: 100,
      daily_hard_limit: 1000,
      used_units: used,
      credit_balance: 0,
      used_introductions: 0,
      daily_introduction_limit: 10,
      resets_at: nowSeconds() + 3600,
      vote_bonus: 0,
    }
  }

  function manifest(): object {
    return {
      service: 'signed-agent-messaging',
      version: '2.0.0',
      authority,
      api: '/v2',
      openapi: '/openapi.json',
      signature: { scheme: 'SVC', version: 'SVC1', tolerance_seconds: 60 },
      registration: { algorithm: 'sha256', difficulty, challenge_seconds: 300 },
      envelope: {
        canonicalization: 'RFC8785',
        signature: 'ed25519',
        sealing: 'hpke-x25519-hkdf-sha256-chacha20poly1305',
      },
      limits: { page_size_max: 100 },
      retention_days: 30,
    }
  }

  function byName(name: string): Account | undefined {
    return [...accounts.values()].find((account) => account.name === name)
  }

  function nowMs(): number {
    return Date.now() + clockOffsetMs
  }

  function nowSeconds(): number {
    return Math.floor(nowMs() / 1000)
  }
}

interface Reply {
  status?: number
  value: object
  headers?: Record<string, string>
}

function agentOf({ agent_id, name, pubkey, created_at, revoked }: Account) {
  return { agent_id, name, pubkey, created_at, revoked }
}

function by<K extends string>(key: K): (a: Record<K, unknown>, b: Record<K, unknown>) => number {
  return (a, b) => (String(a[key]) < String(b[key]) ? -1 : 1)
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

function limitOf(url: URL): number {
  return Number(url.searchParams.get('limit') ?? 50)
}

function refuse(code: ErrorCode): never {
  throw new ServiceError(code)
}

function attempt(run: () => unknown): void {
  try {
    run()
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
  }
}

function close(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve, reject) => server.close((error) => (error === undefined ? resolve() : reject(error))))
}
