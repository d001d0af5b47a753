/**
 * Owns: the connections over which events reach agents, and the leases that limit them (schema `stream`).
 * Scale: any number of processes. They share calls by queue group, and a full process passes a call on. A stream
 * belongs to one process; its client may reconnect to any other.
 * Limit: streams per process (`SVC_STREAMS_PER_PROCESS`), each with at most a page of history and 256 KiB; one Postgres
 * for leases.
 */
import { randomBytes } from 'node:crypto'
import { urlHost } from '@svc/config/host.ts'
import * as calls from '@svc/contracts/stream.ts'
import { createChannel } from '@svc/nats/channel.ts'
import { handle } from '@svc/nats/serve.ts'
import type { RunningService } from '@svc/service/run-service.ts'
import { startService } from '@svc/service/start-service.ts'
import type { StreamConfig } from './config.ts'
import { measureStreams } from './handlers/measure-streams.ts'
import { openStream } from './handlers/open-stream.ts'
import { openStreamHere } from './handlers/open-stream-here.ts'
import { startHttpServer } from './http/http-server.ts'
import { createReleases } from './loops/releases.ts'
import { startReportProcess } from './loops/report-process.ts'
import { startWatchHeads } from './loops/watch-heads.ts'
import { headsRead, streamLeases, streamsBehind, streamsOpen, streamsRoom } from './metrics.ts'
import { createHistory } from './sources/history.ts'
import { createLive } from './sources/live.ts'
import { createPosts } from './sources/posts.ts'
import { reportProcess } from './store/processes.ts'
import { createStreams } from './streams/streams.ts'

/** How long after a missed heartbeat a gateway takes the process for dead. */
const SILENCE_MARGIN_SECONDS = 15

export function startStream(config: StreamConfig): Promise<RunningService> {
  return startService({
    name: 'stream',
    config,
    schemaDir: new URL('../database/', import.meta.url),
    build: async ({ logger, database, nats, bus }) => {
      const processId = randomBytes(8).toString('hex')
      const releases = createReleases({ database, logger, processId })
      const streams = createStreams({
        capacity: config.streamsPerProcess,
        onLeft: (leaseId, hadNoRoom) => {
          releases.release(leaseId)
          if (hadNoRoom) reporting.wake()
        },
      })
      const sources = { history: createHistory(bus), live: createLive(nats, logger), posts: createPosts(bus) }
      const server = await startHttpServer({ ...config, streams, sources, logger })
      const deps = {
        database,
        bus,
        logger,
        streams,
        processId,
        address: `http://${urlHost(config.advertisedHost)}:${config.advertisedPort || server.port}`,
        silenceSeconds: config.heartbeatSeconds + SILENCE_MARGIN_SECONDS,
      }
      await database.run((sql) => reportProcess(sql, processId, streams.room)) // leases need the row
      const reporting = startReportProcess(deps)
      const heads = startWatchHeads(deps, createChannel(nats))
      const measured = (): ReturnType<typeof measureStreams> => measureStreams(deps, heads)
      streamsOpen.read(async () => [[{}, (await measured()).open]])
      streamsRoom.read(async () => [[{}, (await measured()).room]])
      streamsBehind.read(async () => [[{}, (await measured()).most_behind]])
      headsRead.read(async () => [[{}, (await measured()).heads_read_seconds]])
      streamLeases.read(() => [[{}, streams.leaseIds.size]])
      return {
        endpoints: [
          handle(calls.openStream, (request, context) => openStream(deps, request, context)),
          handle(calls.openStreamAt(processId), (request, context) => openStreamHere(deps, request, context)),
          handle(calls.measureStreams, measured),
        ],
        loops: [reporting, heads.loop],
        resources: [releases, server],
      }
    },
  })
}
