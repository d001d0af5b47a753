/** A program that holds a login of NATS, and may do with it whatever the server permits. */
import { type ConnectionOptions, connect, type NatsConnection } from 'nats'

export interface NatsHolder extends AsyncDisposable {
  readonly connection: NatsConnection
  /** Whether the server permits what `act` publishes and subscribes to. One at a time. */
  isAllowed(act: (connection: NatsConnection) => unknown): Promise<boolean>
}

export async function holdLogin(options: ConnectionOptions): Promise<NatsHolder> {
  const connection = await connect(options)
  let violations = 0
  void (async () => {
    for await (const { type } of connection.status()) if (type === 'error') violations += 1
  })()
  return {
    connection,
    async isAllowed(act) {
      violations = 0
      act(connection)
      // The server reports a violation before it answers the flush. The second one lets the report be read.
      await connection.flush()
      await connection.flush()
      return violations === 0
    },
    [Symbol.asyncDispose]: () => connection.close(),
  }
}
