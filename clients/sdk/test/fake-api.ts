/**
 * The answers and the state of the fake service. It has only those rules of admission and budget that a client can observe.
 * `fake-service.ts` checks signatures.
 */
import { type ErrorCode, ServiceError } from '@svc/contracts/errors.ts'
import type { Envelope, Lane, Message, WebhookState } from '@svc/contracts/resources.ts'
import { isSameAuthority, parseSender } from '@svc/envelope/address.ts'
import { type EnvelopeFacts, readEnvelope } from '@svc/envelope/envelope.ts'
import { jcsDigest } from '@svc/envelope/jcs.ts'
import { agentIdOf } from '@svc/svc1/agent-id.ts'
import { checkWork } from '@svc/svc1/pow.ts'
import { formatPublicKey, parsePublicKey } from '@svc/svc1/public-key.ts'
import type { Account } from './fake-account.ts'
import { createFakeBoards } from './fake-boards.ts'

interface Stored {
  message: Message
  digest: string
  /** Undefined for a post. */
  to: Account | undefined
}

export interface Reply {
  status?: number
  value: object
  headers?: Record<string, string>
}

interface FakeApi {
  readonly accounts: ReadonlyMap<string, Account>
  findByName(name: string): Account | undefined
  findMessage(id: string): Message | undefined
  /** @param signer the agent whose signature was verified; undefined for an unsigned request. @throws ServiceError. */
  answer(request: { method: string; url: URL; body: Record<string, unknown> }, signer: Account | undefined): Reply
}

const CHALLENGE = /^challenge-([0-9a-f]{64})-(\d+)$/

export function createFakeApi({
  authority,
  difficulty,
  nowMs,
}: {
  authority: string
  difficulty: number
  nowMs: () => number
}): FakeApi {
  const accounts = new Map<string, Account>()
  const consumed = new Set<string>()
  const messages = new Map<string, Stored>()
  const boards = createFakeBoards()
  let challenges = 0

  return {
    accounts,
    findByName: byName,
    findMessage: (id) => messages.get(id)?.message,
    answer,
  }

  function answer({ method, url, body }: Parameters<FakeApi['answer']>[0], signer: Account | undefined): Reply {
    const [, version, resource = '', id = '', part = '', partId = ''] = url.pathname.split('/').map(decodeURIComponent)
    if (url.pathname === '/.well-known/agent.json') return { value: manifest() }
    if (version !== 'v2') throw new ServiceError('not_found')
    switch (`${method} ${resource}${id === '' ? '' : '/*'}${part === '' ? '' : `/${part}`}`) {
      case 'GET health':
        return {
          value: { status: 'ok', service: 'signed-agent-messaging', version: '2.0.0' },
          headers: { 'x-svc-client-address': '127.0.0.1' },
        }
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
      case 'GET boards':
        return { value: page('boards', boards.list(signer), 'id', url) }
      case 'GET boards/*':
        return { value: boards.get(id, signer) }
      case 'GET boards/*/messages': {
        const found = boards.feed(id, signer).map((message) => ({ message }))
        return { value: messagePage(found, url) }
      }
      case 'GET messages/*':
        return { value: boards.findPost(id, signer) ?? readable(id, signer).message }
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
    switch (`${method} ${resource}${id === '' ? '' : '/*'}${part === '' ? '' : `/${part}`}`) {
      case 'POST boards':
        return { status: 201, value: boards.create(signer, body, nowSeconds()) }
      case 'GET boards/*/members':
        return { value: { members: boards.members(id, signer) } }
      case 'PUT boards/*/members':
        if (!accounts.has(partId)) throw new ServiceError('not_found')
        return { value: boards.setMember(id, signer, partId, String(body.role)) }
      case 'PUT boards/*/messages':
        return { value: boards.setVisibility(id, partId, signer, body.hidden === true) }
      case 'PUT messages/*/vote':
        return { value: boards.vote(id, signer, true) }
      case 'DELETE messages/*/vote':
        return { value: boards.vote(id, signer, false) }
    }
    switch (`${method} ${resource}${id === '' ? '' : '/*'}`) {
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
          ({ to, message }) => to === signer || isFrom(message.envelope, signer),
        )
        return { value: messagePage(found, url) }
      }
      case 'GET events':
        return listEvents(signer, url)
      case 'PUT webhook':
        return { value: setWebhook(signer, String(body.url)) }
      case 'GET webhook':
        return { value: signer.webhook ?? refuse('not_found') }
      case 'DELETE webhook':
        if (signer.webhook === undefined) throw new ServiceError('not_found')
        signer.webhook = undefined
        return { value: { status: 'deleted' } }
    }
    throw new ServiceError('not_found')
  }

  function issueChallenge(pubkey: string): object {
    const publicKey = parsePublicKey(pubkey) ?? refuse('invalid_pubkey')
    challenges += 1
    const challenge = `challenge-${hexOf(publicKey)}-${challenges}`
    return { challenge, difficulty, expires_at: nowSeconds() + 300, algorithm: 'sha256' }
  }

  /** Registers an agent, or refuses with a code of spec 5.6. */
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
      webhook: undefined,
    })
    return result
  }

  function setContact(signer: Account, other: string, state: string): object {
    if (other === signer.agent_id) throw new ServiceError('invalid_request')
    const agent = accounts.get(other) ?? refuse('not_found')
    if (state === 'none') signer.contacts.delete(other)
    else signer.contacts.set(other, state)
    if (state !== 'accepted') return { state }
    signer.used += 1
    for (const { to, message } of messages.values()) {
      if (to !== signer || !isFrom(message.envelope, agent) || message.lane !== 'requests') continue
      message.lane = 'inbox'
      append(signer, message)
    }
    return { state }
  }

  /** Every PUT costs one unit and resets the counts (spec 10.1, 11.2). */
  function setWebhook(signer: Account, url: string): WebhookState {
    if (!url.startsWith('https://')) throw new ServiceError('invalid_webhook_url')
    signer.used += 1
    signer.webhook = { url, pending: 0, failed: 0 }
    return signer.webhook
  }

  function accept(signer: Account, body: Record<string, unknown>): Reply {
    const facts = readEnvelope(body)
    const envelope = body as Envelope
    const earlier = messages.get(facts.id)
    const result = { msg_id: facts.id, status: 'accepted', sender_authenticated: true }
    if (!isFrom(envelope, signer)) throw new ServiceError('sender_mismatch')
    if (earlier !== undefined) {
      if (earlier.digest !== jcsDigest(envelope)) throw new ServiceError('id_conflict')
      return { value: { ...result, lane: earlier.message.lane, duplicate: true } }
    }
    const ageMs = nowMs() - facts.tsMs
    if (ageMs > 300_000 || ageMs < -60_000) throw new ServiceError('envelope_timestamp_out_of_range')
    if (facts.to.kind === 'board') return { status: 202, value: { ...result, ...acceptPost(signer, facts, envelope) } }
    if (facts.to.authority !== authority) throw new ServiceError('recipient_not_local')
    const to = byName(facts.to.name) ?? refuse('recipient_unavailable')
    const known = to === signer || to.contacts.get(signer.agent_id) === 'accepted'
    if (to.contacts.get(signer.agent_id) === 'blocked') throw new ServiceError('admission_denied')
    const lane = known || to.inbox_policy === 'open' ? 'inbox' : 'requests'
    if (lane === 'requests' && (to.inbox_policy !== 'requests' || hasPending(signer, to))) {
      throw new ServiceError(to.inbox_policy === 'requests' ? 'request_pending' : 'admission_denied')
    }
    signer.used += Math.max(1, Math.ceil(facts.payloadBytes / 1024))
    const message = newMessage(envelope, lane)
    messages.set(facts.id, { message, digest: jcsDigest(envelope), to })
    append(to, message)
    return { status: 202, value: { ...result, lane, duplicate: false } }
  }

  /** Whether the agent sent the envelope: `from` is its id or its address (spec 6.2). */
  function isFrom({ from }: Envelope, { agent_id, name }: Account): boolean {
    const sender = parseSender(from)
    if (sender?.kind !== 'agent') return sender?.id === agent_id
    return sender.name === name && isSameAuthority(sender.authority, authority)
  }

  function acceptPost(author: Account, { id, to, payloadBytes }: EnvelopeFacts, envelope: Envelope): object {
    const message = newMessage(envelope, 'board')
    const subscribers = boards.take(to.kind === 'board' ? to.boardId : '', author, message)
    author.used += Math.max(1, Math.ceil(payloadBytes / 1024) * subscribers.length)
    messages.set(id, { message, digest: jcsDigest(envelope), to: undefined })
    for (const agentId of subscribers) append(accounts.get(agentId) ?? refuse('internal'), message)
    return { lane: 'board', duplicate: false }
  }

  function newMessage(envelope: Envelope, lane: Lane): Message {
    const created_at = nowSeconds()
    return { envelope, lane, created_at, expires_at: created_at + 30 * 86_400, acked: false, upvotes: 0 }
  }

  function hasPending(signer: Account, to: Account): boolean {
    return [...messages.values()].some(
      (stored) => stored.to === to && isFrom(stored.message.envelope, signer) && stored.message.lane === 'requests',
    )
  }

  function append(to: Account, message: Message): void {
    to.cursor += 1
    to.events.push({ cursor: to.cursor, kind: message.lane, message })
  }

  function listEvents(signer: Account, url: URL): Reply {
    const after = Number(url.searchParams.get('after') ?? 0)
    const events = signer.events.filter(({ cursor }) => cursor > after).slice(0, limitOf(url))
    const headers = {
      'x-svc-earliest-cursor': String(signer.events[0]?.cursor ?? signer.cursor + 1),
      'x-svc-latest-cursor': String(signer.cursor),
    }
    return { value: { events, next_cursor: events.at(-1)?.cursor ?? after, retention_days: 30 }, headers }
  }

  function messagePage(found: Pick<Stored, 'message'>[], url: URL): object {
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
    if (stored?.to === undefined || signer === undefined) throw new ServiceError('not_found')
    if (stored.to !== signer && !isFrom(stored.message.envelope, signer)) throw new ServiceError('not_found')
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

  function nowSeconds(): number {
    return Math.floor(nowMs() / 1000)
  }
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

export function refuse(code: ErrorCode): never {
  throw new ServiceError(code)
}
