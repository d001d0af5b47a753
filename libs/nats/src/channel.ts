import type { Msg } from 'nats'
import type { Nats } from './connect.ts'

/**
 * What processes of one service tell each other: JSON to whoever listens, without queue groups, batches or deadlines of the
 * clock, which differs between machines. Nothing is kept and nothing is repeated. Values are checked by who receives them.
 */
export interface Channel {
  publish(subject: string, value: unknown): void
  /** @param heard is given undefined for what is not JSON, and how to answer, where an answer is waited for. */
  subscribe(subject: string, heard: (value: unknown, respond: (value: unknown) => void) => void): Disposable
  /** @throws Error where nobody listens, at once; and where no answer comes in time. */
  request(subject: string, value: unknown, timeoutMs: number): Promise<unknown>
  /** Until the server has all that was published and knows all subscriptions. */
  flush(): Promise<void>
  /** Calls back whenever the connection is lost, and when it is there again. Ends with the connection. */
  watchConnection(changed: (state: 'lost' | 'back') => void): Promise<void>
}

export function createChannel({ connection }: Nats): Channel {
  function publish(subject: string, value: unknown): void {
    try {
      connection.publish(subject, JSON.stringify(value))
    } catch {
      // The connection is being closed: what is not heard then is what a listener has to live with at any time.
    }
  }

  return {
    publish,
    subscribe(subject, heard) {
      const callback = (_error: Error | null, message: Msg): void => {
        const { reply } = message
        heard(parse(message), (value) => {
          if (reply) publish(reply, value)
        })
      }
      const subscription = connection.subscribe(subject, { callback })
      return { [Symbol.dispose]: () => subscription.unsubscribe() }
    },
    async request(subject, value, timeoutMs) {
      return parse(await connection.request(subject, JSON.stringify(value), { timeout: timeoutMs }))
    },
    flush: () => connection.flush(),
    async watchConnection(changed) {
      for await (const { type } of connection.status()) {
        if (type === 'disconnect') changed('lost')
        else if (type === 'reconnect') changed('back')
      }
    },
  }
}

function parse(message: Msg): unknown {
  try {
    return message.json()
  } catch {
    return undefined
  }
}
