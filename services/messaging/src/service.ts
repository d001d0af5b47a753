/**
 * Owns envelopes, logs, contacts, admission, acknowledgements, votes and hidden posts (schema `messaging`).
 * Scale: any number of processes. They share calls by queue group, and partitions to purge by advisory lock. A process caches
 * only hints that the append checks (store/send/standings.ts), and for a second which boards are open to everybody
 * (calls/boards.ts).
 * Limit: one Postgres primary. An agent's log is the unit of sharding. Keep pool size x processes under max_connections.
 */
import { createCharging } from '@svc/charging/charging.ts'
import { createOperations } from '@svc/charging/operations.ts'
import { startOperationsPurge } from '@svc/charging/purge.ts'
import { startResolver } from '@svc/charging/resolver.ts'
import * as erasure from '@svc/contracts/erasure.ts'
import * as calls from '@svc/contracts/messaging.ts'
import { type Endpoint, handle, handleText } from '@svc/nats/serve.ts'
import { KeptStream } from '@svc/nats/streams/kept-stream.ts'
import { createPublishEvents } from '@svc/nats/streams/publish-events.ts'
import { acceptedStream } from '@svc/nats/streams/streams.ts'
import type { RunningService } from '@svc/service/run-service.ts'
import { startService } from '@svc/service/start-service.ts'
import { adminEndpoints } from './admin-calls.ts'
import { createBoards } from './calls/boards.ts'
import type { MessagingConfig } from './config.ts'
import type { Deps, PostDeps, SendDeps } from './deps.ts'
import { entryEvent, postEvents } from './domain/accepted-events.ts'
import { ackMessage } from './handlers/change/ack-message.ts'
import { setContact } from './handlers/change/set-contact.ts'
import { setMailbox } from './handlers/change/set-mailbox.ts'
import { setSuspension } from './handlers/change/set-suspension.ts'
import { setVisibility } from './handlers/change/set-visibility.ts'
import { setVote } from './handlers/change/set-vote.ts'
import { eraseAgent, listMissing } from './handlers/operate/erase-agent.ts'
import { listArrivals, readArrivals } from './handlers/read/arrivals.ts'
import { exportMessages } from './handlers/read/export-messages.ts'
import { getMessage } from './handlers/read/get-message.ts'
import { getReceipt } from './handlers/read/get-receipt.ts'
import { listContacts } from './handlers/read/list-contacts.ts'
import { listEvents } from './handlers/read/list-events.ts'
import { listHeads, listMoved } from './handlers/read/list-heads.ts'
import { listInbox } from './handlers/read/list-inbox.ts'
import { listPosts } from './handlers/read/list-posts.ts'
import { listRevoked } from './handlers/read/list-revoked.ts'
import { replayEvents } from './handlers/read/replay-events.ts'
import { resolvePost } from './handlers/read/resolve-post.ts'
import { sendMessage } from './handlers/send/send-message.ts'
import { startKeepStream } from './loops/keep-stream.ts'
import { startPurgeLoop } from './loops/purge.ts'
import { streamBytes, streamMaxBytes } from './metrics.ts'
import { createAppend } from './store/send/append.ts'
import { createAppendPosts } from './store/send/append-posts.ts'
import { createFences } from './store/send/message-fences.ts'
import { createPostPreflight } from './store/send/post-preflight.ts'
import { createPreflight } from './store/send/preflight.ts'
import { createStandings } from './store/send/standings.ts'

const SECONDS_PER_DAY = 24 * 60 * 60

export function startMessaging(config: MessagingConfig): Promise<RunningService> {
  return startService({
    name: 'messaging',
    config,
    schemaDir: new URL('../database/', import.meta.url),
    async build({ logger, database, nats, bus }) {
      const operations = createOperations({ database, schema: 'messaging' })
      const fences = createFences(database, operations)
      const charging = createCharging({ owner: 'messaging', bus, logger, fences })
      const accepted = acceptedStream(config.streamReplicas, config.streamBounds)
      const stream = await KeptStream.open(nats, accepted, {
        management: config.streamManagement,
        onBack: () => keeping.wake(),
      })
      const publish = createPublishEvents(nats, logger)
      const boards = createBoards(bus)
      const retentionSeconds = config.retentionDays * SECONDS_PER_DAY
      const append = createAppend({
        database,
        retentionSeconds,
        onCommitted: (entries) => publish(entries.map((entry) => entryEvent(entry, Date.now()))),
      })
      const posts: PostDeps = {
        preflight: createPostPreflight(database),
        append: createAppendPosts({
          database,
          retentionSeconds,
          onCommitted: (committed) => publish(committed.flatMap((post) => postEvents(post, Date.now()))),
        }),
        boards,
        charging,
      }
      const send: SendDeps = {
        posts,
        standings: createStandings(),
        preflight: createPreflight(database),
        append,
        charging,
      }
      const deps: Deps = { database, boards, charging, operations, publish, retentionDays: config.retentionDays }
      streamBytes.read(async () => [[{}, (await stream.size()).bytes]])
      streamMaxBytes.read(async () => [[{}, (await stream.size()).maxBytes]])
      const keeping = startKeepStream(stream, logger)
      return {
        endpoints: [
          handle(calls.sendMessage, (request, context) => sendMessage(send, request, context)),
          ...readEndpoints(deps),
          ...changeEndpoints(deps),
          ...adminEndpoints(deps),
          handle(erasure.eraseAgent('messaging'), (request) =>
            eraseAgent({ database, purgeEvents: () => stream.purge() }, request),
          ),
          handle(erasure.listMissing, (request) => listMissing(deps, request)),
        ],
        loops: [
          keeping,
          startPurgeLoop(database, logger, retentionSeconds),
          startResolver({ owner: 'messaging', bus, logger, fences }),
          startOperationsPurge({ owner: 'messaging', bus, logger, operations }),
        ],
      }
    },
  })
}

function readEndpoints(deps: Deps): Endpoint[] {
  return [
    handleText(calls.getMessage, (request, context) => getMessage(deps, request, context)),
    handle(calls.getReceipt, (request) => getReceipt(deps, request)),
    handleText(calls.listInbox, (request) => listInbox(deps, request)),
    handleText(calls.exportMessages, (request, context) => exportMessages(deps, request, context)),
    handleText(calls.listEvents, (request, context) => listEvents(deps, request, context)),
    handleText(calls.replayEvents, (request, context) => replayEvents(deps, request, context)),
    handle(calls.listHeads, (request) => listHeads(deps, request)),
    handle(calls.listMoved, (request) => listMoved(deps, request)),
    handle(calls.listRevoked, (request) => listRevoked(deps, request)),
    handle(calls.listArrivals, (request) => listArrivals(deps, request)),
    handleText(calls.readArrivals, (request) => readArrivals(deps, request)),
    handleText(calls.resolvePost, (request, context) => resolvePost(deps, request, context)),
    handleText(calls.listPosts, (request, context) => listPosts(deps, request, context)),
    handle(calls.listContacts, (request) => listContacts(deps, request)),
  ]
}

function changeEndpoints(deps: Deps): Endpoint[] {
  return [
    handle(calls.ackMessage, (request) => ackMessage(deps, request)),
    handle(calls.setVote, (request, context) => setVote(deps, request, context)),
    handle(calls.setVisibility, (request, context) => setVisibility(deps, request, context)),
    handle(calls.setContact, (request, context) => setContact(deps, request, context)),
    handle(calls.setMailbox, (request) => setMailbox(deps, request)),
    handle(calls.setSuspension, (request) => setSuspension(deps, request)),
  ]
}
