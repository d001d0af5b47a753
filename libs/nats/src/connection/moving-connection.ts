import { EventEmitter, on } from 'node:events'
import type { NatsConnection, Status, Subscription, SubscriptionOptions } from 'nats'

/** The old connection stays open for this long after a move, for requests that wait for an answer on it. */
const GRACE_MS = 5_000
const DRAIN_LIMIT_MS = 5_000

type Subscribe = (connection: NatsConnection) => Subscription

/**
 * A connection that can be replaced by another one, e.g. of another login, without losing a message. The new connection gets all
 * subscriptions before the old one gives them up. So a message may arrive twice during a move, and messages may overtake each other.
 */
export class MovingConnection {
  /** Uses whichever connection is the present one. Subscriptions need a callback. */
  readonly view: NatsConnection
  readonly #subscriptions = new Set<MovingSubscription>()
  readonly #statuses = new EventEmitter()
  readonly #closed = Promise.withResolvers<undefined | Error>()
  #present: NatsConnection
  /** During a move. */
  #next: NatsConnection | undefined
  #isLost = false

  constructor(first: NatsConnection) {
    this.#present = first
    this.#statuses.setMaxListeners(0)
    this.#watch(first)
    this.view = this.#createView(first)
  }

  /**
   * Moves to `next`. The old connection closes when nothing waits for an answer on it any more.
   * @throws Error if `next` fails, or may not receive everything that is received now. Then the present connection stays.
   */
  async moveTo(next: NatsConnection): Promise<void> {
    this.#next = next
    try {
      for (const subscription of this.#subscriptions) subscription.openOn(next)
      // After the flush the server has the subscriptions, or has refused them.
      await next.flush()
      const refused = [...this.#subscriptions].find((subscription) => !subscription.isOn(next))
      if (refused !== undefined) throw new Error(`the login may not subscribe to ${refused.view.getSubject()}`)
    } catch (error) {
      this.#next = undefined
      for (const subscription of this.#subscriptions) subscription.leaveOthers(this.#present)
      void next.close()
      throw error
    }
    const old = this.#present
    this.#present = next
    this.#next = undefined
    this.#watch(next)
    if (this.#isLost) this.#tell({ type: 'reconnect', data: next.getServer() } as Status)
    // Some subscriptions may have been made since the last flush.
    await next.flush().catch(() => {})
    for (const subscription of this.#subscriptions) subscription.leaveOthers(next)
    setTimeout(() => void drainWithin(old, DRAIN_LIMIT_MS), GRACE_MS).unref()
  }

  #createView(first: NatsConnection): NatsConnection {
    const of = (): NatsConnection => this.#present
    const own: Partial<NatsConnection> = {
      publish: (...args) => of().publish(...args),
      subscribe: (subject, options) => this.#subscribe(subject, options),
      request: (...args) => of().request(...args),
      flush: () => of().flush(),
      rtt: () => of().rtt(),
      stats: () => of().stats(),
      getServer: () => of().getServer(),
      isClosed: () => of().isClosed(),
      isDraining: () => of().isDraining(),
      jetstreamManager: (options) => of().jetstreamManager(options),
      drain: () => of().drain(),
      close: () => of().close(),
      closed: () => this.#closed.promise,
      status: () => this.#listen(),
    }
    return Object.create(
      first,
      Object.assign(Object.getOwnPropertyDescriptors(own), { info: { get: () => this.#present.info } }),
    )
  }

  #subscribe(subject: string, options: SubscriptionOptions = {}): Subscription {
    if (options.callback === undefined) throw new TypeError(`the subscription of ${subject} needs a callback`)
    const open: Subscribe = (connection) => connection.subscribe(subject, options)
    const subscription = new MovingSubscription(open, this.#present, () => this.#subscriptions.delete(subscription))
    this.#subscriptions.add(subscription)
    if (this.#next !== undefined) subscription.openOn(this.#next)
    return subscription.view
  }

  #watch(connection: NatsConnection): void {
    void this.#passOn(connection)
    void connection.closed().then((error) => {
      if (connection !== this.#present) return
      this.#closed.resolve(error ?? undefined)
      this.#statuses.emit('end')
    })
  }

  async #passOn(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status()) if (connection === this.#present) this.#tell(status)
  }

  #tell(status: Status): void {
    if (status.type === 'disconnect') this.#isLost = true
    else if (status.type === 'reconnect') this.#isLost = false
    this.#statuses.emit('status', status)
  }

  #listen(): AsyncIterable<Status> {
    const events = on(this.#statuses, 'status', { close: ['end'] })
    return (async function* () {
      for await (const [status] of events) yield status as Status
    })()
  }
}

/** One subscription on every connection that is in use: one, or two during a move. */
class MovingSubscription {
  readonly view: Subscription
  readonly #open: Subscribe
  readonly #forget: () => void
  readonly #closed = Promise.withResolvers<void>()
  readonly #parts = new Map<NatsConnection, Subscription>()

  constructor(open: Subscribe, connection: NatsConnection, forget: () => void) {
    this.#open = open
    this.#forget = forget
    const first = this.openOn(connection)
    this.view = Object.create(first, {
      closed: { value: this.#closed.promise },
      isClosed: { value: () => this.#parts.size === 0 },
      isDraining: { value: () => [...this.#parts.values()].some((part) => part.isDraining()) },
      drain: { value: () => this.#end((part) => part.drain()) },
      unsubscribe: { value: () => void this.#end(async (part) => part.unsubscribe()) },
    })
  }

  openOn(connection: NatsConnection): Subscription {
    const part = this.#open(connection)
    this.#parts.set(connection, part)
    // A part may end because the server forbids it, or with its connection. Then the subscription has ended.
    void part.closed.then(() => {
      if (this.#parts.get(connection) !== part) return
      this.#parts.delete(connection)
      if (this.#parts.size > 0) return
      this.#forget()
      this.#closed.resolve()
    })
    return part
  }

  isOn(connection: NatsConnection): boolean {
    return this.#parts.has(connection)
  }

  /** Keeps only the part on this connection. Messages that the other parts already have are still handled. */
  leaveOthers(connection: NatsConnection): void {
    for (const [other, part] of [...this.#parts]) {
      if (other === connection) continue
      this.#parts.delete(other)
      part.drain().catch(() => {}) // the connection is gone, and the part with it
    }
  }

  async #end(how: (part: Subscription) => Promise<void>): Promise<void> {
    this.#forget()
    await Promise.all([...this.#parts.values()].map(how))
  }
}

/** Drains for at most `limitMs`, because a busy consumer can block a drain for ever. Then closes. */
export async function drainWithin(connection: NatsConnection, limitMs: number): Promise<void> {
  if (connection.isClosed()) return
  const limit = Promise.withResolvers<void>()
  const timer = setTimeout(limit.resolve, limitMs)
  // The drain throws if the connection is gone. It is about to be closed anyway.
  await Promise.race([connection.drain().catch(() => {}), limit.promise])
  clearTimeout(timer)
  await connection.close()
}
