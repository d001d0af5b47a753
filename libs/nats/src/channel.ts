import type { Msg } from 'nats'
import type { Nats } from './connect.ts'
import { calleeOf, isReplyTo, openInbox } from './wire/inbox.ts'

/**
 * Messages between processes of one service: JSON for every listener, without queue groups or batches. There are no deadlines by
 * wall clock, because clocks differ between machines. Delivery is at most once. The receiver must validate the values.
 */
export interface Channel {
  publish(subject: string, value: unknown): void
  /** @param heard gets the value, or undefined if the message is not JSON. `respond` is a no-op if no answer is expected. */
  subscribe(subject: string, heard: (value: unknown, respond: (value: unknown) => void) => void): Disposable
  /** @throws Error at once if nobody listens, or if no answer comes in time. */
  request(subject: string, value: unknown, timeoutMs: number): Promise<unknown>
  /** Waits until the server has everything that was published, and knows all subscriptions. */
  flush(): Promise<void>
  /** Calls back when the connection is lost, and when it is back. Ends with the connection. */
  watchConnection(changed: (state: 'lost' | 'back') => void): Promise<void>
}

export function createChannel(nats: Nats): Channel {
  const { connection } = nats
  const inbox = openInbox(nats)

  function publish(subject: string, value: unknown): void {
    try {
      connection.publish(subject, JSON.stringify(value))
    } catch {
      // The connection is being closed. Listeners must tolerate lost messages at any time.
    }
  }

  return {
    publish,
    subscribe(subject, heard) {
      const mayAnswer = isReplyTo(calleeOf(subject))
      const callback = (_error: Error | null, message: Msg): void => {
        const { reply, headers } = message
        // Listeners have no headers to read. A message with headers may come from a stream that republishes what others wrote.
        if (headers !== undefined) return
        heard(parse(message), (value) => {
          if (reply !== undefined && mayAnswer(reply)) publish(reply, value)
        })
      }
      const subscription = connection.subscribe(subject, { callback })
      return { [Symbol.dispose]: () => subscription.unsubscribe() }
    },
    async request(subject, value, timeoutMs) {
      // The client's own reply subjects count upwards. Whoever has seen one could guess the next.
      const options = { timeout: timeoutMs, noMux: true, reply: inbox.replyFrom(calleeOf(subject)) }
      return parse(await connection.request(subject, JSON.stringify(value), options))
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

/** Undefined if the message is not JSON, because a listener drops messages that break its contract. */
function parse(message: Msg): unknown {
  try {
    return message.json()
  } catch {
    return undefined
  }
}
