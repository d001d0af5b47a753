import { createHash, randomBytes } from 'node:crypto'
import { ServiceError } from '@svc/contracts/errors.ts'
import { standardWebhookKey } from '@svc/svc1/webhook-key.ts'
import type { Mailbox } from '../../mailbox.ts'
import { decodeCursor, encodeCursor } from '../cursors.ts'
import { eventError } from '../event-errors.ts'
import { MESSAGE_RECEIVED, type Wanted } from '../event-type.ts'
import { createFilter } from '../filter.ts'
import { findStart } from '../occurrences.ts'
import { type CallbackRules, Callbacks } from './callback.ts'
import { Deliveries, isSuspended } from './deliveries.ts'
import type { Progress, Subscription, SubscriptionStore } from './subscription-store.ts'
import { TIMES, type Times } from './times.ts'

interface Asked {
  readonly wanted: Wanted
  readonly url: string
  readonly secret: string
  readonly cursor: string | undefined
  readonly since: number | undefined
  /** Undefined if the client asked for none; null if the subscription shall never end. */
  readonly ttlMs: number | null | undefined
}

const MAX_SUBSCRIPTIONS = 20
const TTL_MS = { least: 60_000, usual: 3_600_000, most: 86_400_000 }
const OLD_SECRET_MS = 600_000
/** The most challenges to one host in a minute, so that this server cannot be used to flood a host. */
const MAX_CHALLENGES = 10
const CHALLENGE_WINDOW_MS = 60_000

/** The webhook subscriptions of the holder of one token. */
export class Subscriptions implements AsyncDisposable {
  readonly #mailbox: Mailbox
  readonly #store: SubscriptionStore
  readonly #principal: string
  readonly #callbacks: Callbacks
  readonly #deliveries: Deliveries
  readonly #times: Times
  readonly #challenges = new Map<string, number[]>()

  /** @param token of the clients. A client with another token has other subscriptions. */
  constructor(mailbox: Mailbox, { token, rules }: { token: string; rules: CallbackRules }) {
    this.#mailbox = mailbox
    this.#store = mailbox.subscriptions
    this.#principal = createHash('sha256').update(token).digest('hex').slice(0, 16)
    this.#callbacks = new Callbacks(rules)
    this.#times = rules.times ?? TIMES
    const { stateFolder } = mailbox
    const [callbacks, principal, store] = [this.#callbacks, this.#principal, this.#store]
    this.#deliveries = new Deliveries({ mailbox, store, callbacks, principal, stateFolder }, this.#times)
  }

  /** Begins or refreshes a subscription. @throws ProtocolError. */
  async subscribe(asked: Asked, signal: AbortSignal): Promise<object & Record<string, unknown>> {
    const { aliases } = this.#mailbox
    const { wanted, url, secret } = asked
    const host = this.#hostOf(url)
    if (standardWebhookKey(secret) === undefined) {
      throw eventError('InvalidParams', 'delivery.secret must be whsec_ and the base64 of 24 to 64 bytes')
    }
    await createFilter(this.#mailbox, wanted, signal)
    const id = this.#idOf(url, wanted)
    const live = this.#list()
    const known = findWithRoom(live, id)
    const start =
      known === undefined
        ? await this.#startOf(asked.cursor, signal)
        : { cursor: this.#store.progressOf(known).cursor, truncated: false }
    if (!live.some((one) => one.principal === this.#principal && one.url === url)) {
      await this.#verify(host, { id, url, secret, oldSecret: undefined })
    }
    // Parallel calls may have taken the room meanwhile. Nothing waits between this check and the write.
    const before = findWithRoom(this.#list(), id)
    const nowMs = this.#times.nowMs()
    const ttlMs = asked.ttlMs === undefined ? TTL_MS.usual : (asked.ttlMs ?? TTL_MS.most)
    const expiresAtMs = nowMs + Math.min(Math.max(ttlMs, TTL_MS.least), TTL_MS.most)
    const subscription: Subscription = {
      id,
      principal: this.#principal,
      wanted,
      url,
      secret,
      oldSecret: oldSecretOf(before, secret, nowMs),
      life: before?.life ?? randomBytes(8).toString('hex'),
      start: before?.start ?? start.cursor,
      since: before === undefined ? asked.since : before.since,
      refreshedAtMs: nowMs,
      expiresAtMs,
    }
    const progress = this.#store.progressOf(subscription)
    const status = statusOf(before ?? subscription, progress)
    this.#store.save(subscription)
    this.#deliveries.notice()
    return {
      id,
      refreshBefore: new Date(expiresAtMs).toISOString(),
      cursor: encodeCursor(aliases, progress.cursor),
      truncated: start.truncated,
      deliveryStatus: status,
    }
  }

  /** Ends a subscription. @throws ProtocolError NotFound. */
  unsubscribe(url: string, wanted: Wanted): void {
    const id = this.#idOf(url, wanted)
    if (this.#store.find(id) === undefined) {
      throw eventError('NotFound', 'there is no such subscription', { kind: 'subscription' })
    }
    this.#store.remove(id)
    this.#deliveries.notice()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#deliveries[Symbol.asyncDispose]()
  }

  #list(): Subscription[] {
    return this.#store.list(this.#times.nowMs())
  }

  #hostOf(url: string): string {
    try {
      return this.#callbacks.hostOf(url)
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      throw eventError('InvalidParams', 'delivery.url must be an https URL with a public host and port 443')
    }
  }

  /** The same for the same principal, URL, event and arguments, on any day. */
  #idOf(url: string, { lanes, ...rest }: Wanted): string {
    const wanted = Object.entries({ ...rest, ...(lanes === undefined ? {} : { lanes: lanes.toSorted() }) }).toSorted()
    const key = JSON.stringify([this.#principal, url, MESSAGE_RECEIVED, wanted])
    return createHash('sha256').update(key).digest('hex').slice(0, 32)
  }

  async #startOf(cursor: string | undefined, signal: AbortSignal): Promise<{ cursor: number; truncated: boolean }> {
    const { client, aliases } = this.#mailbox
    if (cursor === undefined) return { cursor: await client.latestCursor({ signal }), truncated: false }
    return findStart(this.#mailbox, decodeCursor(aliases, cursor), signal)
  }

  async #verify(host: string, to: Parameters<Callbacks['challenge']>[0]): Promise<void> {
    const nowMs = this.#times.nowMs()
    const recent = (this.#challenges.get(host) ?? []).filter((atMs) => nowMs - atMs < CHALLENGE_WINDOW_MS)
    if (recent.length >= MAX_CHALLENGES) {
      const limit = { limit: 'verifications of a host in a minute', max: MAX_CHALLENGES }
      throw eventError('ResourceExhausted', 'this host was asked too often: try again in a minute', limit)
    }
    this.#challenges.set(host, [...recent, nowMs])
    const reason = await this.#callbacks.challenge(to)
    if (reason !== undefined) {
      throw eventError('CallbackEndpointError', `the callback did not answer the challenge: ${reason}`, { reason })
    }
  }
}

/** @returns undefined if there is no such subscription, but room for it. @throws ProtocolError ResourceExhausted. */
function findWithRoom(live: readonly Subscription[], id: string): Subscription | undefined {
  const found = live.find((one) => one.id === id)
  if (found !== undefined || live.length < MAX_SUBSCRIPTIONS) return found
  const limit = { limit: 'subscriptions', max: MAX_SUBSCRIPTIONS }
  throw eventError('ResourceExhausted', 'there are too many subscriptions: end one first', limit)
}

function oldSecretOf(before: Subscription | undefined, secret: string, nowMs: number): Subscription['oldSecret'] {
  if (before === undefined || before.secret === secret) return before?.oldSecret
  return { secret: before.secret, untilMs: nowMs + OLD_SECRET_MS }
}

function statusOf(subscription: Subscription, progress: Progress): object {
  const { lastDeliveryAtMs, lastError, failedSinceMs } = progress
  const time = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString())
  return {
    active: !isSuspended(subscription, progress),
    lastDeliveryAt: time(lastDeliveryAtMs),
    lastError: lastError ?? null,
    ...(failedSinceMs === undefined ? {} : { failedSince: time(failedSinceMs) }),
  }
}
