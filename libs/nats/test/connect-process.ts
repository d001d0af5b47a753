/** Connects to each URL in its arguments, one after the other, and prints `connected` or the error. */
import { createLogger } from '@svc/telemetry/logger.ts'
import { connectNats, drainNats } from '../src/connect.ts'

const outcomes: string[] = []
for (const url of process.argv.slice(2)) {
  try {
    const nats = await connectNats({ url, name: 'test', logger: createLogger('test', 'silent'), firstConnectMs: 5_000 })
    await nats.connection.flush()
    outcomes.push('connected')
    await drainNats(nats)
  } catch (error) {
    outcomes.push(error instanceof Error ? error.message : String(error))
  }
}
process.stdout.write(JSON.stringify(outcomes))
