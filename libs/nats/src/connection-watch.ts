import type { NatsConnection } from 'nats'

/**
 * Whether a connection is there. The package throws away what is published while it is not, and what a server took with it when
 * it died is never answered: whoever asks then would wait until his time is over.
 */
export class ConnectionWatch {
  readonly #waiting = new Set<(error: Error) => void>()
  #isLost = false

  constructor(connection: NatsConnection, changed: (state: 'lost' | 'back') => void = () => {}) {
    void this.#watch(connection, changed)
  }

  /** @throws Error at once where the connection is lost, or when it is lost before the work is done, which goes on unheard. */
  async whileConnected<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isLost) throw new Error('NATS is away')
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
