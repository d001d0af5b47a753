import type { NatsConnection } from 'nats'

/** The limit of one connection: far more than is ever on its way over a good link. */
export const MAX_UNCONFIRMED_CHARACTERS: number = 32 * 1024 * 1024
/** Below this amount the server is not asked for a confirmation. */
const ASKED_FROM_CHARACTERS = 1024 * 1024

const windows = new WeakMap<NatsConnection, SendWindow>()

/** The window of a connection. All publishers of large messages on it share it. */
export function sendWindowOf(connection: NatsConnection): SendWindow {
  let window = windows.get(connection)
  if (window === undefined) {
    window = new SendWindow(() => connection.flush())
    windows.set(connection, window)
  }
  return window
}

/**
 * Bounds the data that was handed to a connection and may not have reached the server. The client buffers without a limit while
 * the link is silent, until that is detected (connect.ts), so this counts it.
 */
export class SendWindow {
  readonly #flush: () => Promise<void>
  #unconfirmed = 0
  #isAsking = false

  /** @param flush settles when the server has everything that was handed over before, or when it is certain that it never will. */
  constructor(flush: () => Promise<void>) {
    this.#flush = flush
  }

  /** If true, publish nothing large. */
  get isFull(): boolean {
    return this.#unconfirmed >= MAX_UNCONFIRMED_CHARACTERS
  }

  countSent(characters: number): void {
    this.#unconfirmed += characters
    if (!this.#isAsking && this.#unconfirmed >= ASKED_FROM_CHARACTERS) this.#askForConfirmation()
  }

  #askForConfirmation(): void {
    this.#isAsking = true
    const asked = this.#unconfirmed
    const confirmed = (): void => {
      this.#isAsking = false
      this.#unconfirmed -= asked
      if (this.#unconfirmed >= ASKED_FROM_CHARACTERS) this.#askForConfirmation()
    }
    // If the link is lost, the client drops unsent data, so a failed flush counts as confirmed too.
    this.#flush().then(confirmed, confirmed)
  }
}
