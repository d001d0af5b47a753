import type { NatsConnection } from 'nats'

/**
 * Makes requests fail at once when the connection is lost. The package `nats` drops messages that are published meanwhile, and a
 * server that dies never answers its pending requests. Without this, such a request would wait for its full timeout.
 */
export class ConnectionWatch {
  readonly #waiting = new Set<(error: Error) => void>()
  #isLost = false

  constructor(connection: NatsConnection, changed: (state: 'lost' | 'back') => void = () => {}) {
    void this.#watch(connection, changed)
  }

  /** @throws Error as soon as the connection is lost. The work then goes on, but its result is ignored. */
  async whileConnected<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isLost) throw new Error('NATS is not connected')
    const { promise: lost, reject } = Promise.withResolvers<never>()
    this.#waiting.add(reject)
    try {
      return await Promise.race([work(), lost])
    } finally {
      this.#waiting.delete(reject)
    }
  }

  async #watch(connection: NatsConnection, changed: (state: 'lost' | 'back') => void): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect') {
        this.#isLost = true
        for (const reject of this.#waiting) reject(new Error('the connection to NATS was lost'))
        changed('lost')
      } else if (type === 'reconnect') {
        this.#isLost = false
        changed('back')
      }
    }
  }
}
