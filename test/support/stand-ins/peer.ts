import { connectNats, drainNats } from '@svc/nats/connect.ts'
import { type Endpoint, type Serving, serve } from '@svc/nats/serve.ts'
import { createLogger } from '@svc/telemetry/logger.ts'

/** A stand-in for a service that the tested service calls. */
export interface Peer extends AsyncDisposable {
  /** Stops answering calls, until `up`. */
  down(): Promise<void>
  up(): Promise<void>
}

/** @param natsUrl the URL of NATS with the credentials of the replaced service. */
export async function startPeer(natsUrl: string, name: string, endpoints: Endpoint[]): Promise<Peer> {
  const logger = createLogger('test', 'silent')
  const nats = await connectNats({ url: natsUrl, name: `test-${name}`, logger })
  let serving: Serving | undefined
  const peer: Peer = {
    async down() {
      await serving?.drain()
      await nats.connection.flush()
      serving = undefined
    },
    async up() {
      serving ??= await serve({ nats, name, version: '0.0.0', logger, endpoints })
      await nats.connection.flush()
    },
    [Symbol.asyncDispose]: () => drainNats(nats),
  }
  await peer.up()
  return peer
}
