import type { NatsConnection } from 'nats'

/**
 * Bounds the data that was handed to a connection and may not have reached the server. The client buffers without a limit while
 * the link is silent, until that is detected (connect.ts), so this counts it.
 */
interface Outflow {
  add(characters: number): void
  /** If true, publish nothing large. */
  readonly isFull: boolean
}

/** The limit of one connection: far more than is ever on its way over a good link. */
export const MAX_UNCONFIRMED_CHARACTERS: number = 32 * 1024 * 1024
/** Below this amount the server is not asked for a confirmation. */
const ASKED_FROM_CHARACTERS = 1024 * 1024

const outflows = new WeakMap<NatsConnection, Outflow>()

/** The outflow of a connection. All publishers of large messages on it share it. */
export function outflowOf(connection: NatsConnection): Outflow {
  let outflow = outflows.get(connection)
  if (outflow === undefined) {
    outflow = createOutflow(() => connection.flush())
    outflows.set(connection, outflow)
  }
  return outflow
}

/** @param flush settles when the server has everything that was handed over before, or when it is certain that it never will. */
export function createOutflow(flush: () => Promise<void>): Outflow {
  let unconfirmed = 0
  let isAsking = false
  return {
    add(characters) {
      unconfirmed += characters
      if (!isAsking && unconfirmed >= ASKED_FROM_CHARACTERS) ask()
    },
    get isFull() {
      return unconfirmed >= MAX_UNCONFIRMED_CHARACTERS
    },
  }

  function ask(): void {
    isAsking = true
    const asked = unconfirmed
    const confirmed = (): void => {
      isAsking = false
      unconfirmed -= asked
      if (unconfirmed >= ASKED_FROM_CHARACTERS) ask()
    }
    // If the link is lost, the client drops unsent data, so a failed flush counts as confirmed too.
    flush().then(confirmed, confirmed)
  }
}
