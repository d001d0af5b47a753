/** What the scripted service knows, and what each operation does. */
import { type Envelope, EnvelopeError, readEnvelope, type SignedEnvelope } from '@svc/envelope/envelope.ts'
import { verifyEnvelope } from '@svc/envelope/sign-envelope.ts'
import { checkWork } from '@svc/svc1/pow.ts'
import type { ClientCase, Frame, StoredEvent } from './case.ts'
import { AUTHORITY, REGISTERED } from './cast.ts'
import { canonicalText, composed } from './messages.ts'
import { agentObject, boardOf, DIFFICULTY, MANIFEST } from './objects.ts'
import { placeOf, type Seen } from './seen.ts'

/** A page ends early, with a cursor that a query must escape. Only an empty cursor marks the end (spec 7.9). */
const PAGE = 2

interface Outcome {
  readonly status: number
  readonly value?: unknown
  readonly headers?: Record<string, string>
}

interface WorldEvent extends StoredEvent {
  readonly envelope: Envelope
}

export class World {
  readonly events: readonly WorldEvent[]
  /** The JCS of accepted envelopes, by id. */
  readonly #accepted = new Map<string, unknown>()
  readonly #nowMs: () => number
  readonly #acked = new Set<string>()

  private constructor(events: readonly WorldEvent[], nowMs: () => number) {
    this.events = events
    this.#nowMs = nowMs
  }

  /** @param nowMs the service's clock. */
  static async create({ as, events }: ClientCase, nowMs: () => number): Promise<World> {
    const made = new Map<string, Envelope>()
    for (const event of events) if (!made.has(event.id)) made.set(event.id, await composed(event, as, event.forge))
    return new World(
      events.map((event) => ({ ...event, envelope: made.get(event.id) as Envelope })),
      nowMs,
    )
  }

  perform(seen: Seen, id: string): Outcome {
    const query = new URLSearchParams(seen.target.split('?')[1] ?? '')
    const caller = REGISTERED.find(({ agentId }) => agentId === seen.authentication?.agentId)
    const agent = REGISTERED.find(({ name }) => name === id)
    switch (seen.route) {
      case 'GET /.well-known/agent.json':
        return { status: 200, value: MANIFEST }
      case 'GET /v2/health':
        return { status: 200, value: { status: 'ok', service: MANIFEST.service, version: MANIFEST.version } }
      case 'GET /v2/agents/{name}':
        return agent === undefined ? refusal(404, 'not_found') : { status: 200, value: agentObject(agent.name) }
      case 'GET /v2/agents':
        return { status: 200, value: { agents: [], next_cursor: '' } }
      case 'GET /v2/me': {
        const value = {
          agent: agentObject(caller?.name ?? ''),
          address: caller?.address,
          inbox_policy: 'open',
          discoverable: false,
        }
        return { status: 200, value }
      }
      case 'POST /v2/challenges':
        return { status: 201, value: this.#challenge(seen) }
      case 'POST /v2/agents/register':
        return this.#register(seen)
      case 'GET /v2/contacts':
        return { status: 200, value: { contacts: [], next_cursor: '' } }
      case 'PUT /v2/contacts/{agent}':
        return { status: 200, value: bodyOf(seen) }
      case 'POST /v2/messages':
        return this.#send(seen)
      case 'POST /v2/messages/{id}/ack':
        this.#acked.add(id)
        return { status: 200, value: { status: 'acked' } }
      case 'GET /v2/messages/{id}': {
        const event = this.events.find(({ envelope }) => envelope.id === id)
        return event === undefined ? refusal(404, 'not_found') : { status: 200, value: this.#message(event) }
      }
      case 'GET /v2/inbox':
        return this.#inbox(query, seen)
      case 'GET /v2/events':
        return this.#history(query, seen)
      case 'GET /v2/stream':
        return { status: 200, headers: { ...this.#ends(), 'content-type': 'text/event-stream; charset=utf-8' } }
      case 'POST /v2/boards':
        return { status: 201, value: boardOf(bodyOf(seen)) }
      case 'GET /v2/boards':
        return { status: 200, value: { boards: [], next_cursor: '' } }
      default:
        return refusal(404, 'not_found')
    }
  }

  /** What an undisturbed stream sends first. */
  framesAfter(seen: Seen): Frame[] {
    const after = placeOf(seen)
    const events = this.events.filter(({ cursor }) => cursor > after).map(({ cursor }) => ({ event: cursor }))
    return ['retry', ...events, { cursor: Math.max(after, this.#latest()) }]
  }

  eventText(cursor: number): string {
    const event = this.events.find((one) => one.cursor === cursor)
    if (event === undefined) throw new Error(`the case has no event ${cursor}`)
    return JSON.stringify(this.#event(event))
  }

  #challenge(seen: Seen): object {
    const challenge = `challenge-for-${bodyOf(seen).pubkey}`
    return { challenge, difficulty: DIFFICULTY, expires_at: seconds() + 300, algorithm: 'sha256' }
  }

  #register(seen: Seen): Outcome {
    const { name, pubkey, challenge, nonce } = bodyOf(seen)
    if (challenge !== `challenge-for-${pubkey}`) return refusal(400, 'challenge_invalid')
    if (typeof nonce !== 'string' || !/^[\x21-\x7e]{1,128}$/.test(nonce) || !checkWork(challenge, nonce, DIFFICULTY)) {
      seen.faults.push(`the proof of work has fewer than ${DIFFICULTY} zero bits, or a malformed nonce (5.5)`)
      return refusal(400, 'pow_invalid')
    }
    return { status: 201, value: { agent_id: seen.authentication?.agentId, address: `${name}@${AUTHORITY}` } }
  }

  #send(seen: Seen): Outcome {
    const envelope = bodyOf(seen) as unknown as Envelope
    const fault = this.#envelopeFault(envelope, seen.authentication?.agentId ?? '')
    if (fault !== undefined) {
      seen.faults.push(fault)
      return refusal(400, 'invalid_envelope')
    }
    const canonical = canonicalText(envelope)
    const earlier = this.#accepted.get(envelope.id)
    if (earlier !== undefined && earlier !== canonical) return refusal(409, 'id_conflict')
    this.#accepted.set(envelope.id, canonical)
    const lane = envelope.to.startsWith('board:') ? 'board' : 'inbox'
    const value = {
      msg_id: envelope.id,
      status: 'accepted',
      lane,
      duplicate: earlier !== undefined,
      sender_authenticated: true,
    }
    return { status: earlier === undefined ? 202 : 200, value }
  }

  #envelopeFault(envelope: Envelope, agentId: string): string | undefined {
    const sender = REGISTERED.find((one) => one.agentId === agentId)
    try {
      const { tsMs } = readEnvelope(envelope)
      const offSeconds = (tsMs - this.#nowMs()) / 1000
      if (offSeconds < -300 || offSeconds > 60) return `ts is ${Math.round(offSeconds)} s from the clock (6.7)`
    } catch (error) {
      return error instanceof EnvelopeError ? `the envelope is malformed: ${error.message} (6.1)` : String(error)
    }
    if (envelope.from !== agentId && envelope.from.toLowerCase() !== sender?.address)
      return `from is ${envelope.from}, which is not the caller (6.2)`
    if ('sig' in envelope && sender !== undefined && !verifyEnvelope(envelope as SignedEnvelope, sender.publicKey))
      return 'sig is not the signature over the canonical JSON of the envelope without sig (6.3)'
    return undefined
  }

  #inbox(query: URLSearchParams, seen: Seen): Outcome {
    const all = this.events.filter(({ kind = 'inbox' }) => kind === (query.get('lane') ?? 'inbox'))
    const after = query.get('after')
    const [, place] = /^(\d+)\+\/=&é$/.exec(after ?? '') ?? []
    if (after !== null && place === undefined) {
      seen.faults.push(`after is ${JSON.stringify(after)}, which this list never answered as next_cursor (7.9)`)
      return refusal(400, 'invalid_cursor')
    }
    const from = Number(place ?? 0)
    const messages = all.slice(from, from + PAGE).map((event) => this.#message(event))
    const next_cursor = from + PAGE < all.length ? `${from + PAGE}+/=&é` : ''
    return { status: 200, value: { messages, next_cursor } }
  }

  #history(query: URLSearchParams, seen: Seen): Outcome {
    const after = placeOf(seen)
    const events = this.events
      .filter(({ cursor }) => cursor > after)
      .slice(0, Math.min(PAGE, Number(query.get('limit') ?? PAGE)))
    const next_cursor = events.at(-1)?.cursor ?? Math.max(after, this.#latest())
    const value = { events: events.map((event) => this.#event(event)), next_cursor, retention_days: 30 }
    return { status: 200, value, headers: this.#ends() }
  }

  #event(event: WorldEvent): object {
    return { cursor: event.cursor, kind: event.kind ?? 'inbox', message: this.#message(event) }
  }

  #message({ envelope, kind = 'inbox' }: WorldEvent): object {
    const created_at = seconds() - 5
    const acked = this.#acked.has(envelope.id)
    return { envelope, lane: kind, created_at, expires_at: created_at + 2_592_000, acked, upvotes: 0 }
  }

  #ends(): Record<string, string> {
    const earliest = this.events[0]?.cursor ?? 1
    return { 'x-svc-earliest-cursor': String(earliest), 'x-svc-latest-cursor': String(this.#latest()) }
  }

  #latest(): number {
    return this.events.at(-1)?.cursor ?? 0
  }
}

function bodyOf({ body }: Seen): Record<string, unknown> {
  try {
    return JSON.parse(body)
  } catch {
    return {}
  }
}

function refusal(status: number, code: string): Outcome {
  return { status, value: { error: { code, message: 'This text may change at any time.' } } }
}

function seconds(): number {
  return Math.floor(Date.now() / 1000)
}
