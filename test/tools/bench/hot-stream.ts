/**
 * The stream `ACCEPTED` and its consumer `webhook`, through which all events pass, without the services around them. One process
 * publishes events, and then one process takes them.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { acceptedSubject } from '@svc/contracts/accepted.ts'
import { startNats } from '@svc/local/engines/nats.ts'
import { deriveSecrets } from '@svc/local/engines/secrets.ts'
import { connectNats, drainNats, type Nats } from '@svc/nats/connect.ts'
import { KeptStream } from '@svc/nats/streams/kept-stream.ts'
import { createPublishEvents, type Publication } from '@svc/nats/streams/publish-events.ts'
import { StreamConsumer } from '@svc/nats/streams/stream-consumer.ts'
import { acceptedStream, WEBHOOK_CONSUMER } from '@svc/nats/streams/streams.ts'
import { startKeeper } from '@svc/processes/keep.ts'
import { createMark } from '@svc/processes/marks.ts'
import { createLogger } from '@svc/telemetry/logger.ts'

const EVENTS = 100_000
const AGENTS = 1_000
const BATCH_EVENTS = 1_000
/** About as long as the event of a message with a body of 100 bytes. */
const TEXT = 'x'.repeat(550)
/** As in services/webhook/src/loops/ingest.ts. */
const PULL_EVENTS = 500

/** @returns events per second. */
export async function measureStream(): Promise<{ published: number; taken: number }> {
  await using stack = new AsyncDisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
  stack.defer(() => rmSync(folder, { recursive: true, force: true }))
  const mark = createMark(folder)
  const keeper = await startKeeper(mark, folder)
  stack.defer(() => keeper.release())
  const { natsPasswords: passwords } = deriveSecrets('bench')
  const server = stack.adopt(await startNats({ folder, mark, passwords, onProblem: console.error }), async (nats) => {
    await nats.stop()
  })
  const logger = createLogger('bench', 'silent')
  const connect = async (login: 'messaging' | 'webhook'): Promise<Nats> =>
    stack.adopt(await connectNats({ url: server.urlFor(login), name: 'bench', logger }), drainNats)

  const messaging = await connect('messaging')
  await (await KeptStream.open(messaging, acceptedStream(1))).keep()
  const publish = createPublishEvents(messaging, logger)
  const publishingMs = performance.now()
  for (let at = 0; at < EVENTS; at += BATCH_EVENTS) {
    publish(batchFrom(at))
    await messaging.connection.flush()
  }
  const takingMs = performance.now()
  let taken = 0
  const consumer = stack.use(
    await StreamConsumer.open(await connect('webhook'), WEBHOOK_CONSUMER, {
      handle: async () => {
        taken += 1
        return 'done'
      },
    }),
  )
  const { signal } = new AbortController()
  while (taken < EVENTS) await consumer.pull({ maxEvents: PULL_EVENTS, waitMs: 5_000, signal })
  const endMs = performance.now()
  return {
    published: EVENTS / ((takingMs - publishingMs) / 1_000),
    taken: EVENTS / ((endMs - takingMs) / 1_000),
  }
}

function batchFrom(first: number): Publication[] {
  return Array.from({ length: BATCH_EVENTS }, (_, index) => {
    const agent = `agent-${(first + index) % AGENTS}`
    return {
      subject: acceptedSubject(agent, 'inbox'),
      text: TEXT,
      acceptedMs: 1,
    }
  })
}
