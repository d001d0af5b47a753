import type { NatsConnection } from 'nats'

/**
 * What was handed to a connection and is not known to have left. The client takes whatever it is given and keeps it while the link is
 * silent, until that is noticed (connect.ts), so somebody else has to count.
 */
export interface Outflow {
  add(characters: number): void
  /** Nothing more should be handed over that is not small. */
  readonly isFull: boolean
}

/** Of one connection: far more than is ever on its way while the link is good. */
export const MAX_UNCONFIRMED_CHARACTERS: number = 32 * 1024 * 1024
/** Whatever is less is not asked about. */
const ASKED_FROM_CHARACTERS = 1024 * 1024

const outflows = new WeakMap<NatsConnection, Outflow>()

/** The outflow of a connection, which all that publish large messages on it share. */
export function outflowOf(connection: NatsConnection): Outflow {
  let outflow = outflows.get(connection)
  if (outflow === undefined) {
    outflow = createOutflow(() => connection.flush())
    outflows.set(connection, outflow)
  }
  return outflow
}

/** @param flush settles when the server has all that was handed over before, or never will. */
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
    // What was not sent when the link is lost is not kept either.
    flush().then(confirmed, confirmed)
  }
}
