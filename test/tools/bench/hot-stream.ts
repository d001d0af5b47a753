/**
 * The stream `ACCEPTED` and its consumer `webhook`, through which all events pass, without the services around them. One process
 * publishes events, and then one process takes them.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { acceptedMessageId, acceptedSubject } from '@svc/contracts/accepted.ts'
import { startNats } from '@svc/local/engines/nats.ts'
import { deriveSecrets } from '@svc/local/engines/secrets.ts'
import { connectNats, drainNats, type Nats } from '@svc/nats/connect.ts'
import { StreamConsumer } from '@svc/nats/streams/stream-consumer.ts'
import { MAX_BATCH_MESSAGES, type Publication, StreamPublisher } from '@svc/nats/streams/stream-publisher.ts'
import { acceptedStream, WEBHOOK_CONSUMER } from '@svc/nats/streams/streams.ts'
import { startKeeper } from '@svc/processes/keep.ts'
import { createMark } from '@svc/processes/marks.ts'
import { createLogger } from '@svc/telemetry/logger.ts'

const EVENTS = 100_000
const AGENTS = 1_000
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

  const stream = stack.use(await StreamPublisher.open(await connect('messaging'), acceptedStream(1)))
  await stream.state()
  const publishingMs = performance.now()
  for (let at = 0; at < EVENTS; at += MAX_BATCH_MESSAGES) await stream.publish(batchFrom(at))
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
  return Array.from({ length: MAX_BATCH_MESSAGES }, (_, index) => {
    const agent = `agent-${(first + index) % AGENTS}`
    return {
      subject: acceptedSubject(agent, 'inbox'),
      messageId: acceptedMessageId(agent, first + index),
      text: TEXT,
    }
  })
}
